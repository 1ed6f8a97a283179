//! Compiling on another thread while the user can interrupt.
//!
//! PJRT cannot end a compile. Who interrupts leaves it behind; it goes on, and a later call that has the same program
//! for the same device takes its result instead of compiling anew.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use dispatch_runtime::engine;
use dispatch_runtime::family::by_engine;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Device, Error};

use crate::executable::name;
use crate::fault::{Fault, Result};
use crate::main_thread::{self, MainThread};
use crate::progress::Progress;
use crate::runs::Pause;
use crate::unwind::check_interrupt;
use crate::{background, cache, memory};

type Done = dispatch_runtime::Result<Box<dyn engine::Executable>>;

/// A compile that somebody has left.
struct Behind {
    source: Arc<Source>,
    device: Device,
    result: Arc<Room>,
}

/// Where a compile leaves its result.
#[derive(Default)]
struct Room {
    done: Mutex<Option<Done>>,
    is_done: Condvar,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Option<Done>> {
        self.done.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn put(&self, done: Done) {
        *self.lock() = Some(done);
        self.is_done.notify_all();
    }
}

/// How many results wait to be picked up at most.
const BEHIND: usize = 16;

static LEFT_BEHIND: MainThread<RefCell<Vec<Behind>>> = MainThread::new(RefCell::new(Vec::new()));

/// A program that was made.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    /// How long it took.
    pub took: Duration,
    /// Whether it was loaded instead of compiled.
    pub is_loaded: bool,
}

/// What a call says around the runtime.
struct Aside {
    /// Whether there is something.
    is_some: Cell<bool>,
    /// A fault that cannot go through the runtime as an error.
    fault: Cell<Option<Fault>>,
    /// What was compiled, of which nobody was told yet.
    compiled: Cell<Option<Made>>,
}

static ASIDE: MainThread<Aside> =
    MainThread::new(Aside { is_some: Cell::new(false), fault: Cell::new(None), compiled: Cell::new(None) });

/// The runtime's error for a fault, which waits for [`done`].
#[cold]
pub(crate) fn leave(fault: Fault) -> Error {
    let aside = ASIDE.get();
    aside.is_some.set(true);
    aside.fault.set(Some(fault));
    Error::Interrupted
}

/// What has come of a call: its result, or the fault that it was left with. Whatever the runtime makes of the error, R's
/// jump goes on. If it has compiled, `tell` tells who wants to hear of it.
#[inline]
pub(crate) fn done<T>(result: Result<T>, tell: impl FnOnce(Made) -> Result<()>) -> Result<T> {
    match ASIDE.get().is_some.get() {
        false => result,
        true => with_aside(result, tell),
    }
}

#[cold]
fn with_aside<T>(result: Result<T>, tell: impl FnOnce(Made) -> Result<()>) -> Result<T> {
    let aside = ASIDE.get();
    aside.is_some.set(false);
    let (fault, compiled) = (aside.fault.take(), aside.compiled.take());
    if let Some(fault) = fault {
        return Err(fault);
    }
    let value = result?;
    if let Some(made) = compiled {
        tell(made)?;
    }
    Ok(value)
}

/// Forgets what was left behind.
pub(crate) fn forget() {
    LEFT_BEHIND.get().take();
}

/// Compiles a program for a device, or loads it from the client's store, as a compiler of families and skeletons.
pub(crate) fn compile(device: Device, source: &Source) -> Done {
    // A family of ours that another thread calls, by a reference that it got from a body.
    if main_thread::is_other() {
        return by_engine(device, source);
    }
    interruptible(device, source).map_err(leave)?
}

fn interruptible(device: Device, source: &Source) -> Result<Done> {
    let _pause = Pause::begin();
    cache::apply(device.client())?;
    let start = Instant::now();
    let done = match attempt(device, source)? {
        Err(error) if memory::is_exhausted(&error) => {
            memory::collect()?;
            attempt(device, source)?
        }
        done => done,
    };
    if let Ok(executable) = &done {
        let aside = ASIDE.get();
        aside.is_some.set(true);
        aside.compiled.set(Some(Made { took: start.elapsed(), is_loaded: executable.is_loaded() }));
    }
    Ok(done)
}

fn attempt(device: Device, source: &Source) -> Result<Done> {
    let mut progress = Progress::new(|| name(source));
    let done = match take_behind(device, source) {
        Some(behind) => wait(behind, |passed| progress.step(passed)),
        None => start(device, source, |passed| progress.step(passed)),
    };
    let ended = progress.end();
    let done = done?;
    ended?;
    Ok(done)
}

/// Begins a compile and waits for it.
fn start(device: Device, source: &Source, waiting: impl FnMut(Duration) -> Result<()>) -> Result<Done> {
    let behind = Behind { source: Arc::new(source.clone()), device, result: Arc::default() };
    let (program, result) = (behind.source.clone(), behind.result.clone());
    let work = move || {
        let done = catch_unwind(AssertUnwindSafe(|| by_engine(device, &program)));
        result.put(done.unwrap_or_else(|_| {
            Err(Error::Panic { callee: "the compiler".into(), message: "its thread has ended".into() })
        }));
    };
    match background::run(work, waiting) {
        Ok(()) => Ok(behind.result.lock().take().expect("the work has ended")),
        Err(fault) => {
            keep(behind);
            Err(fault)
        }
    }
}

/// Waits for what was left behind.
fn wait(behind: Behind, mut waiting: impl FnMut(Duration) -> Result<()>) -> Result<Done> {
    let start = Instant::now();
    loop {
        let lock = behind.result.lock();
        let waited = behind.result.is_done.wait_timeout_while(lock, background::STEP, |done| done.is_none());
        if let Some(done) = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.take() {
            return Ok(done);
        }
        if let Err(fault) = check_interrupt().and_then(|()| waiting(start.elapsed())) {
            keep(behind);
            return Err(fault);
        }
    }
}

fn keep(behind: Behind) {
    let mut all = LEFT_BEHIND.get().borrow_mut();
    if all.len() == BEHIND {
        all.remove(0);
    }
    all.push(behind);
}

/// The compile of this program that was left behind, if there is one.
fn take_behind(device: Device, source: &Source) -> Option<Behind> {
    let mut all = LEFT_BEHIND.get().borrow_mut();
    let i = all.iter().position(|behind| behind.device == device && same(&behind.source, source))?;
    Some(all.remove(i))
}

fn same(a: &Source, b: &Source) -> bool {
    match (a, b) {
        (Source::StableHlo(a), Source::StableHlo(b)) => a == b,
        (Source::Bytecode(a), Source::Bytecode(b)) | (Source::Hlo(a), Source::Hlo(b)) => a == b,
        _ => false,
    }
}
