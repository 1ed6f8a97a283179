//! Runs of programs, and the jumps of R out of R functions that programs call.
//!
//! Between such a function and who started the program there are frames of XLA, over which R must not jump. So a jump ends
//! where the function was called, the program fails, and the jump goes on where the program was started: [`run`]. That
//! holds if nothing of R runs in between; so whatever runs R code during a run is a `Pause`. Who starts programs in
//! another way gets the failure of the program only.
//!
//! R functions are called by the copy of this crate that `pjrtdispatch` has. Other packages see its state, and have the jump
//! go on by its table.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::fault::{Fault, Result};
use crate::main_thread::MainThread;
use crate::shared;
use crate::unwind::Token;

/// What R's thread does: one of the three below. Only that thread looks.
pub(crate) static STATE: AtomicU8 = AtomicU8::new(OUTSIDE);

/// R code, or what it has called.
const OUTSIDE: u8 = 0;
/// A program that [`run`] has started, and nothing of R.
const INSIDE: u8 = 1;
/// As before, and a jump waits for its end.
const LEFT: u8 = 2;

/// [`STATE`] of the copy that has it: ours, unless this package has joined another.
static SEEN: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const STATE).cast_mut());

/// The jump that waits.
static JUMP: MainThread<Cell<Option<Token>>> = MainThread::new(Cell::new(None));

/// The package has joined `pjrtdispatch`, whose state this is. It lives as long as the process.
pub(crate) fn watch(state: *const AtomicU8) {
    SEEN.store(state.cast_mut(), Ordering::Relaxed);
}

#[inline(always)]
fn replace(state: u8) -> u8 {
    // SAFETY: the state is a static of this library or of one that stays in the process.
    let seen = unsafe { &*SEEN.load(Ordering::Relaxed) };
    // Only R's thread is here, so the two need not be one.
    let before = seen.load(Ordering::Relaxed);
    seen.store(state, Ordering::Relaxed);
    before
}

/// The state that comes back.
struct Before(u8);

impl Drop for Before {
    #[inline(always)]
    fn drop(&mut self) {
        replace(self.0);
    }
}

/// Starts a program, on R's thread: what `start` gives, and a jump of R that has to go on now, if there is one. Nothing of R
/// runs in `start` but what the program calls, and what is a `Pause`.
#[inline]
pub fn run<T>(start: impl FnOnce() -> T) -> (T, Result<()>) {
    let before = Before(replace(INSIDE));
    let value = start();
    let is_left = replace(INSIDE) == LEFT;
    drop(before);
    (value, if is_left { Err(go_on()) } else { Ok(()) })
}

#[cold]
fn go_on() -> Fault {
    let gone = match shared::room() {
        Some((_, table)) => shared::go_on(table),
        None => take(),
    };
    gone.err().unwrap_or_else(|| Fault::new("error", "R was on its way out, and nobody knows where"))
}

/// The jump that waits, for the table.
pub(crate) fn take() -> Result<()> {
    JUMP.get().take().map_or(Ok(()), |token| Err(Fault::Jump(token)))
}

/// R code that runs during a run, as long as this lives. On R's thread only.
pub(crate) struct Pause {
    _before: Before,
}

impl Pause {
    pub fn begin() -> Pause {
        Pause { _before: Before(replace(OUTSIDE)) }
    }

    /// [`Pause::begin`] for a function that a program calls; none if the program was left by another before.
    pub fn for_function() -> Option<Pause> {
        match replace(OUTSIDE) {
            LEFT => {
                replace(LEFT);
                None
            }
            before => Some(Pause { _before: Before(before) }),
        }
    }
}

/// Has a jump out of a function wait for the end of the run, after the function's `Pause`; whether there is a run.
pub(crate) fn keep(token: Token) -> bool {
    match replace(LEFT) {
        INSIDE => {
            JUMP.get().set(Some(token));
            true
        }
        before => {
            replace(before);
            false
        }
    }
}
