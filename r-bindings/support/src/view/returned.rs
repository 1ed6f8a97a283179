//! Objects of R that are lent to a device.
//!
//! A device is done with an object on any thread, but R's objects are let go on R's thread only. So what comes back waits
//! until that thread comes by: at the next conversion, and whenever a buffer ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::Result;
use crate::ffi::SEXP;
use crate::root::Root;

/// An object of R that stays alive until this is dropped, on whatever thread.
pub(super) struct Lent(Option<Waiting>);

struct Waiting {
    _root: Root,
}

// SAFETY: other threads only move the root; it is dropped on R's thread, see `take_back`.
unsafe impl Send for Waiting {}

static BACK: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());
static WAITING: AtomicUsize = AtomicUsize::new(0);
static LENT: AtomicUsize = AtomicUsize::new(0);

impl Lent {
    pub fn new(value: SEXP) -> Result<Lent> {
        let root = Root::new(value)?;
        LENT.fetch_add(1, Ordering::Relaxed);
        Ok(Lent(Some(Waiting { _root: root })))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(root) = self.0.take() {
            let mut back = BACK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            back.push(root);
            WAITING.store(back.len(), Ordering::Release);
        }
    }
}

/// Lets go of the objects that came back. On R's thread; allocates nothing of R.
#[inline]
pub(crate) fn take_back() {
    if WAITING.load(Ordering::Acquire) > 0 {
        release();
    }
}

#[cold]
fn release() {
    let back = {
        let mut back = BACK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        WAITING.store(0, Ordering::Relaxed);
        std::mem::take(&mut *back)
    };
    LENT.fetch_sub(back.len(), Ordering::Relaxed);
    drop(back);
}

/// How many objects are lent.
pub(super) fn lent() -> usize {
    take_back();
    LENT.load(Ordering::Relaxed)
}
