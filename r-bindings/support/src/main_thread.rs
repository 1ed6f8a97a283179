//! R's thread.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::fault::{Fault, Result};

/// What the process is to us.
static STATE: AtomicU8 = AtomicU8::new(DETACHED);
const DETACHED: u8 = 0;
const ATTACHED: u8 = 1;
/// After a fork, in the child: the plugin's threads are not there, and locks may be held for ever.
const FORKED: u8 = 2;

/// R's thread as [`current`] names it; it does not end before the process does. 0 before there is one.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Names the calling thread among those that are running. Called many times in a call: a variable of the thread's own would
/// be looked up by a function each time, as this is a shared library.
#[inline]
fn current() -> usize {
    #[cfg(unix)]
    {
        // SAFETY: the function takes nothing.
        unsafe { libc::pthread_self() as usize }
    }
    #[cfg(not(unix))]
    {
        thread_local!(static OWN: u8 = const { 0 });
        OWN.with(|own| std::ptr::from_ref(own) as usize)
    }
}

#[inline]
fn is_main() -> bool {
    MAIN.load(Ordering::Relaxed) == current()
}

/// Makes the calling thread R's thread, and watches for forks.
pub(crate) fn attach() {
    MAIN.store(current(), Ordering::Relaxed);
    if STATE.swap(ATTACHED, Ordering::AcqRel) == DETACHED {
        // The handler needs no clean-up: packages of this toolkit are never unloaded from the process.
        #[cfg(unix)]
        // SAFETY: the handler only writes an atomic.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked))
        };
    }
}

#[cfg(unix)]
unsafe extern "C" fn forked() {
    STATE.store(FORKED, Ordering::Release);
}

/// Whether this is a child of the process that loaded the package.
#[inline]
pub(crate) fn is_forked() -> bool {
    STATE.load(Ordering::Relaxed) == FORKED
}

/// Whether this is another thread than R's.
#[inline]
pub(crate) fn is_other() -> bool {
    !is_main()
}

/// An error unless this is R's thread in the process that loaded the package.
#[inline]
pub(crate) fn check() -> Result<()> {
    if STATE.load(Ordering::Relaxed) == ATTACHED && is_main() {
        return Ok(());
    }
    Err(refused())
}

#[cold]
fn refused() -> Fault {
    match STATE.load(Ordering::Relaxed) {
        DETACHED => Fault::new("detached", "the package was not loaded by R"),
        FORKED => Fault::new(
            "forked",
            "this process was forked from the one that loaded the package, where the plugin's threads are: \
             compute in the parent, or load the package first in the child (a PSOCK cluster does)",
        ),
        _ => Fault::new("thread", "R's functions can be called on R's own thread only"),
    }
}

/// A value that only R's thread touches: the content of a static in the glue to R.
pub struct MainThread<T>(T);

// SAFETY: the value is only given out on R's thread, see `get`.
unsafe impl<T> Sync for MainThread<T> {}

impl<T> MainThread<T> {
    /// A value for R's thread.
    pub const fn new(value: T) -> MainThread<T> {
        MainThread(value)
    }

    /// The value, for who is on R's thread in any case.
    ///
    /// # Safety
    ///
    /// The calling thread is R's.
    #[inline]
    pub(crate) unsafe fn get_here(&self) -> &T {
        debug_assert!(is_main(), "the glue to R was used on another thread");
        &self.0
    }

    /// The value.
    ///
    /// # Panics
    ///
    /// On another thread.
    #[inline]
    pub fn get(&self) -> &T {
        assert!(is_main(), "the glue to R was used on another thread");
        &self.0
    }
}
