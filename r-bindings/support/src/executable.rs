//! Compiled programs.

use std::sync::Arc;
use std::time::Instant;

use dispatch_runtime::engine::pjrt::CompileOptions;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Device, Error, Executable};

use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::array_of;
use crate::handle::{Handle, Kind};
use crate::progress::{self, Progress};
use crate::{background, buffer, cache, convert, dispatcher, memory, slot};

impl Handle for Executable {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTLoadedExecutable", "pjrtdispatch executable 1");
        &KIND
    }
}

/// Compiles a program for a device.
///
/// The user can interrupt; the compiler then ends its work in the background, and what it makes is dropped. In an
/// interactive session a compile that takes long is shown, and `options(pjrtdispatch.verbose = TRUE)` logs every one.
pub fn compile(source: &Arc<Source>, device: Device, options: Option<&CompileOptions>) -> Result<Executable> {
    // A dispatcher logs the compiles that it asks for with its reason.
    let verbose = !dispatcher::is_compiling() && progress::is_verbose()?;
    memory::make_room()?;
    cache::apply(device.client())?;
    let start = Instant::now();
    let done = match attempt(source, device, options)? {
        Err(error) if memory::is_exhausted(&error) => {
            memory::collect()?;
            attempt(source, device, options)?
        }
        done => done,
    };
    let executable = done?;
    if verbose {
        let seconds = start.elapsed().as_secs_f64();
        let done = progress::done(executable.compiled().is_loaded());
        progress::log(&format!("{done} {} for {device} in {seconds:.3} s", name(source)))?;
    }
    Ok(executable)
}

fn attempt(
    source: &Arc<Source>,
    device: Device,
    options: Option<&CompileOptions>,
) -> Result<Result<Executable, Error>> {
    let (program, options) = (source.clone(), options.cloned());
    let work = move || match options {
        None => device.client().compile_on(&*program, device),
        Some(options) => device.client().compile_with(&*program, device, &options),
    };
    let mut progress = Progress::new(|| match dispatcher::compiling() {
        None => name(source),
        Some(call) => format!("{}, for {call}", name(source)),
    });
    let done = background::run(work, |passed| progress.step(passed));
    let ended = progress.end();
    let done = done?;
    ended?;
    Ok(done)
}

/// The array for an input of a program, counted from 0: that of a buffer, or what a converter makes of an object. `keep` are the
/// inputs that the program does not consume.
#[inline]
pub fn input(executable: &Executable, value: SEXP, i: usize, keep: &[i64]) -> Result<Array> {
    buffer::get_element(value, "...", i).or_else(|fault| object(executable, value, i, keep, fault))
}

/// What is no buffer, for which the error was made.
#[cold]
fn object(executable: &Executable, value: SEXP, i: usize, keep: &[i64], fault: Fault) -> Result<Array> {
    let Fault::Condition(mut condition) = fault else { return Err(fault) };
    let path = format!("...[[{}]]", i + 1);
    // A handle is none, whatever became of it. Nor is an `AnvlArray`, which has a buffer.
    if Rf_isObject(value) == 0 || !matches!(array_of(value, &path), Ok(None)) {
        return Err(Fault::Condition(condition));
    }
    let donated = executable.compiled().aliased().get(i) == Some(&true) && !keep.contains(&(i as i64));
    match slot::object(value, executable.inputs().get(i), donated, &path, executable.device())? {
        Some(array) => Ok(array),
        None => {
            condition.message += &convert::none_for(value, None)?;
            Err(Fault::Condition(condition))
        }
    }
}

/// A program in a few words: `jit_f (12 lines)`.
pub(crate) fn name(source: &Source) -> String {
    match source {
        Source::StableHlo(text) => {
            let lines = match text.trim().lines().count() {
                1 => "1 line".into(),
                n => format!("{n} lines"),
            };
            match module(text) {
                Some(name) => format!("{name} ({lines})"),
                None => format!("a program of {lines}"),
            }
        }
        other => other.to_string(),
    }
}

/// The name of a module in MLIR text, if it has one.
fn module(text: &str) -> Option<&str> {
    let (_, name) = text.split_once("module @")?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || "_.$-".contains(c))).unwrap_or(name.len());
    (end > 0).then_some(&name[..end])
}
