//! Handlers that run programs themselves.
//!
//! A plugin runs a heavy program on threads of its own, and the next one of the client when it is done. A handler that is
//! called there and waits for another program waits for one that waits for the handler's own: so it was on all plugins
//! known, for small and for large programs. PJRT has no way to ask for that, so the wait ends after a while with an error.
//! A handler that is called on the thread that executes the program, as is done for a small one, may wait for anything.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::abi::PJRT_Buffer;
use super::call::Plugin;
use super::read;
use crate::{Error, Result};

/// How long a handler waits on a thread of the plugin.
const PATIENCE: Duration = Duration::from_millis(500);

/// The same once it has waited in vain: a program may have many calls of the handler.
const LEARNED: Duration = Duration::from_millis(50);

thread_local! {
    /// How many executions this thread is in that may call handlers.
    static EXECUTIONS: Cell<u32> = const { Cell::new(0) };
}

/// As long as it lives, handlers that are called on this thread are so by an execution of this thread.
pub(super) struct Executing(());

impl Executing {
    pub fn begin() -> Executing {
        EXECUTIONS.set(EXECUTIONS.get() + 1);
        Executing(())
    }
}

impl Drop for Executing {
    fn drop(&mut self) {
        EXECUTIONS.set(EXECUTIONS.get() - 1);
    }
}

/// Whether this is a handler on a thread of the plugin.
#[inline]
pub(super) fn is_handler_of_pool() -> bool {
    crate::ffi::in_handler() && EXECUTIONS.get() == 0 && !is_main_thread()
}

/// The main thread is nobody's pool, though another library of the process may have it execute a program.
#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    // SAFETY: these only ask.
    unsafe { libc::gettid() == libc::getpid() }
}

#[cfg(not(target_os = "linux"))]
fn is_main_thread() -> bool {
    false
}

/// Waits for a buffer in a handler on a thread of the plugin.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<()> {
    static IN_VAIN: AtomicBool = AtomicBool::new(false);
    let patience = if IN_VAIN.load(Ordering::Relaxed) { LEARNED } else { PATIENCE };
    // SAFETY: by the caller's promise.
    if unsafe { read::await_ready_for(plugin, buffer, patience) }? {
        return Ok(());
    }
    IN_VAIN.store(true, Ordering::Relaxed);
    Err(Error::Unimplemented {
        what: "waiting in an FFI handler for a program that the plugin runs after that of the handler".into(),
        by: plugin.description(),
    })
}
