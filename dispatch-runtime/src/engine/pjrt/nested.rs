//! Handlers that run programs themselves.
//!
//! A plugin runs a heavy program on threads of its own, and the next one when it is done. A handler that is called there
//! and waits for another program may thus wait for one that waits for the handler's own. (Whoever calls a handler on the
//! thread that executes the program, as is done for a small one, is not concerned.) PJRT has no way to ask for that. So who
//! waits on a thread of a plugin looks now and then whether any of these threads does something.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::abi::PJRT_Buffer;
use super::call::Plugin;
use super::exit::Look;
use super::read;
use crate::{Error, Result};

/// How long one waits before the first look, and between two pairs of them; how long nothing has to happen between the
/// looks of a pair; and how often, for a thread may wait for something outside of the process, which comes.
const PATIENCE: (Duration, Duration, usize) = (Duration::from_millis(200), Duration::from_millis(60), 2);

/// The same once it has happened in this process: a program may have many calls of the handler.
const LEARNED: (Duration, Duration, usize) = (Duration::from_millis(40), Duration::from_millis(20), 1);

static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Waits for a buffer on a thread of a plugin. An error if the plugin stands still.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<()> {
    let (patience, pause, times) = if HAPPENED.load(Ordering::Relaxed) { LEARNED } else { PATIENCE };
    let mut still = 0;
    while still < times {
        // SAFETY: by the caller's promise.
        unsafe {
            if read::await_ready_for(plugin, buffer, patience)? {
                return Ok(());
            }
            let before = Look::at_workers();
            if read::await_ready_for(plugin, buffer, pause)? {
                return Ok(());
            }
            // Who promised an answer from elsewhere may give it at any time.
            let waits = before.is_some_and(|before| Look::at_workers() == Some(before));
            still = if waits && !crate::ffi::answers_are_pending() { still + 1 } else { 0 };
        }
    }
    HAPPENED.store(true, Ordering::Relaxed);
    Err(Error::Unimplemented {
        what: "waiting in an FFI handler for a program that the plugin runs after that of the handler".into(),
        by: plugin.description(),
    })
}
