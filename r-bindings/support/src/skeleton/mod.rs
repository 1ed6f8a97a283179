//! Skeletons as objects of R: compiled programs whose inputs have names and fixed layouts.
//!
//! One run, `run(skeleton, x = 1:4, 2)`:
//!
//! | step | where | what happens |
//! |---|---|---|
//! | match | `inputs.rs` | what has the name of a slot is for that, the rest fills the other slots in order |
//! | read | `inputs.rs` | an array is taken, R's data uploaded at the slot's dtype |
//! | run | the runtime's `skeleton/` | the arrays are compared with the slots, and the program runs |
//!
//! A [`Dynamic`] gets its skeletons of an R function, and keeps them in the runtime's cache.

mod dynamic;
mod inputs;

use std::sync::Arc;

use dispatch_runtime::program::Source;
use dispatch_runtime::skeleton::SkeletonSlot;
use dispatch_runtime::{Array, Device, Program};

pub use dynamic::Dynamic;

use crate::arg::Arg;
use crate::executable::name;
use crate::fault::{Result, in_dots};
use crate::ffi::*;
use crate::handle::{Handle, Kind};
use crate::{buffer, compiler, dispatcher, memory, progress, runs};

/// A skeleton with as many results as its program gives.
pub type Skeleton = dispatch_runtime::skeleton::Skeleton<Vec<Array>>;

impl Handle for Skeleton {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTSkeleton", "pjrtdispatch skeleton 1");
        &KIND
    }
}

/// Compiles a program for these slots, or for what it takes itself.
///
/// The user can interrupt. `options(pjrtdispatch.verbose = TRUE)` logs it, as every compile that nobody else logs.
pub fn create(source: &Arc<Source>, slots: Option<&[SkeletonSlot]>, device: Device) -> Result<Skeleton> {
    let program = Program::from(Source::clone(source));
    // SAFETY: the function lets the device's engine compile the program that it is asked for.
    made(device, || unsafe { Skeleton::compiled_by(device, program, slots, compiler::compile) })
}

/// Makes a skeleton of a file, as [`create`] if its program has to be compiled.
pub fn load(path: &str, device: Device) -> Result<Skeleton> {
    // SAFETY: the function lets the device's engine compile the program that it is asked for.
    made(device, || unsafe { Skeleton::load_by(device, path, compiler::compile) })
}

/// A skeleton of what makes one, which may compile.
fn made(
    device: Device,
    make: impl FnOnce() -> Result<Skeleton, dispatch_runtime::Error>,
) -> Result<Skeleton> {
    let is_logged = !dispatcher::is_compiling() && !dynamic::is_building() && progress::is_verbose()?;
    memory::make_room()?;
    let mut compiled = None;
    let skeleton = compiler::done(make().map_err(Into::into), |made| {
        compiled = Some(made);
        Ok(())
    })?;
    if let (Some(made), true) = (compiled, is_logged) {
        let (done, seconds) = (progress::done(made.is_loaded), made.took.as_secs_f64());
        progress::log(&format!("{done} {} for {device} in {seconds:.3} s", name(skeleton.program())))?;
    }
    Ok(skeleton)
}

/// Runs a skeleton on the elements of a list: the one buffer that it gives, or a list of them.
pub fn run(skeleton: &Skeleton, given: Arg<'_>) -> Result<SEXP> {
    let inputs = inputs::for_slots(skeleton, given)?;
    let args: inputs::Few<&Array> = inputs.iter().collect();
    let results = memory::with_retry(|| -> Result<Vec<Array>> {
        let (results, left) = runs::run(|| skeleton.run(&args));
        left?;
        Ok(results.map_err(in_dots)?)
    })?;
    drop(args);
    drop(inputs);
    buffer::wrap_all(results, true)
}
