//! Keeping the memory of dropped buffers bounded.
//!
//! R collects when its own memory fills up. A buffer is a few words to it, whatever it holds on the device, so
//! unreferenced buffers would pile up. We count the bytes of all buffers that R holds, and let R collect when they
//! have grown by as much as there was after the last collection, within bounds.

use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::{Array, Error};

use crate::fault::{Fault, Result};
use crate::ffi::R_gc;
use crate::unwind::protect;

/// The bytes of the buffers that R holds. Finalizers run on R's thread only; it is atomic for the sake of Rust.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// At how many bytes R is asked to collect.
static LIMIT: AtomicUsize = AtomicUsize::new(LEAST);

/// By how much buffers may grow without a collection, at least and at most.
const LEAST: usize = 256 << 20;
const MOST: usize = 2 << 30;

/// What a buffer costs beyond its elements.
const OVERHEAD: usize = 512;

fn cost(array: &Array) -> usize {
    array.len() * array.dtype().size() + OVERHEAD
}

/// Counts a buffer that R holds from now on.
#[inline]
pub(crate) fn add(array: &Array) {
    LIVE.store(LIVE.load(Ordering::Relaxed) + cost(array), Ordering::Relaxed);
}

/// Counts a buffer that R holds no longer.
#[inline]
pub(crate) fn remove(array: &Array) {
    LIVE.store(LIVE.load(Ordering::Relaxed).saturating_sub(cost(array)), Ordering::Relaxed);
}

/// The bytes of the buffers that R holds.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Lets R collect if the buffers that it holds have piled up. Called before new ones are made.
#[inline]
pub fn make_room() -> Result<()> {
    if LIVE.load(Ordering::Relaxed) < LIMIT.load(Ordering::Relaxed) { Ok(()) } else { collect() }
}

/// Lets R collect.
#[cold]
pub fn collect() -> Result<()> {
    crate::view::take_back();
    // SAFETY: the function takes nothing.
    protect(|| unsafe { R_gc() })?;
    let live = live();
    LIMIT.store(live + live.clamp(LEAST, MOST), Ordering::Relaxed);
    Ok(())
}

/// Whether an error says that the device's memory is exhausted.
pub(crate) fn is_exhausted(error: &Error) -> bool {
    matches!(error, Error::Pjrt { status: "RESOURCE_EXHAUSTED", .. })
}

/// Runs what makes buffers; if the device's memory is exhausted, lets R collect and tries once more.
#[inline]
pub fn with_retry<T, E: Into<Fault>>(mut run: impl FnMut() -> Result<T, E>) -> Result<T> {
    make_room()?;
    match run().map_err(Into::into) {
        Err(fault) if fault.is_exhausted() => {
            collect()?;
            run().map_err(Into::into)
        }
        result => result,
    }
}
