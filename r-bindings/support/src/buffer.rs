//! Buffers: arrays as R objects.
//!
//! The address of the handle is the array's own (see [`Array::into_handle`]). All are made by `pjrtdispatch`; in another
//! package, [`get`] and [`wrap`] ask it (see [`shared`]).

use std::ptr::NonNull;
use std::time::Duration;

use dispatch_runtime::Array;
use dispatch_runtime::array::HANDLE_VERSION;

use crate::arg::Arg;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::Kind;
use crate::root::Root;
use crate::unwind::{check_interrupt, protect};
use crate::{main_thread, make, memory, printing, shared, view};

/// The kind of handles to arrays. The tag has the version of what they point to.
pub static BUFFER: Kind = Kind::new("PJRTBuffer", "pjrtdispatch buffer 1");
const _: () = assert!(HANDLE_VERSION == 1, "the version is part of the tag");

/// A new buffer, which R owns. It is not protected.
#[inline]
pub fn wrap(array: Array) -> Result<SEXP> {
    if let Some((room, table)) = shared::room() {
        return room.wrap(table, array);
    }
    memory::add(&array);
    let address = array.into_handle();
    BUFFER.make(address.as_ptr(), Some(finalize)).inspect_err(|_| {
        // SAFETY: no handle was made, so the reference is still ours.
        forget(unsafe { Array::from_handle(address) });
    })
}

/// New buffers of the results of a run, not protected: a list, or the one buffer if that is asked for.
pub fn wrap_all(mut results: Vec<Array>, simplify: bool) -> Result<SEXP> {
    if simplify && results.len() == 1 {
        return wrap(results.remove(0));
    }
    let buffers = results.into_iter().map(|array| Root::new(wrap(array)?)).collect::<Result<Vec<Root>>>()?;
    let values: Vec<SEXP> = buffers.iter().map(Root::get).collect();
    Ok(make::list(&values)?.release())
}

/// A new buffer without an array, not protected; to be [`complete`]d before R does anything else.
pub(crate) fn reserve() -> Result<SEXP> {
    let (symbol, classes) = BUFFER.prepare()?;
    // SAFETY: these are the symbol and the classes of the kind.
    protect(|| unsafe { unfinished(symbol, classes) })
}

/// A new buffer without an array, for what must not fail later; see [`complete`].
///
/// # Safety
///
/// Inside [`protect`](crate::protect), with what [`Kind::prepare`] gave; the result is not protected.
#[inline]
pub(crate) unsafe fn unfinished(symbol: SEXP, classes: SEXP) -> SEXP {
    // SAFETY: by the caller's promise.
    unsafe { BUFFER.build(std::ptr::null_mut(), symbol, classes, Some(finalize)) }
}

/// Gives the array to a buffer that has none. Allocates nothing of R.
///
/// # Safety
///
/// `buffer` is from [`unfinished`], and was not completed.
#[inline]
pub(crate) unsafe fn complete(buffer: SEXP, array: Array) {
    memory::add(&array);
    // SAFETY: by the caller's promise the object is a pointer without an address.
    unsafe { R_SetExternalPtrAddr(buffer, array.into_handle().as_ptr()) };
}

/// Drops the reference of a handle.
fn forget(array: Array) {
    memory::remove(&array);
    drop(array);
    // What it shared memory with may be free now.
    view::take_back();
}

/// R has collected a buffer. This runs inside R's collector: it must not call R beyond the pointer, nor panic.
unsafe extern "C" fn finalize(x: SEXP) {
    // In a forked child the plugin's threads are gone, and its locks may be held: leave everything as it is.
    if main_thread::is_forked() {
        return;
    }
    // SAFETY: the finalizer was registered for a handle of an array; R calls it once.
    unsafe {
        if let Some(address) = NonNull::new(R_ExternalPtrAddr(x)) {
            R_ClearExternalPtr(x);
            forget(Array::from_handle(address));
        }
    }
}

/// The array of a buffer, as another reference: R code may release the buffer meanwhile.
#[inline]
pub fn get(x: Arg<'_>) -> Result<Array> {
    get_sexp(x.get(), x.name())
}

/// [`get`] of an object that is not an argument; `path` is for the message.
#[inline]
pub fn get_sexp(x: SEXP, path: &str) -> Result<Array> {
    match BUFFER.address_of(x) {
        // SAFETY: the tag says that the address is that of an array's handle of this library, and R keeps it now.
        Some(address) => Ok(unsafe { Array::from_handle_ref(&NonNull::new_unchecked(address)).clone() }),
        None => elsewhere(x, path),
    }
}

/// The array of what is no buffer of this library.
#[cold]
fn elsewhere(x: SEXP, path: &str) -> Result<Array> {
    match shared::room() {
        Some((room, table)) => room.get(table, x, path),
        None => Err(BUFFER.refused(x, path)),
    }
}

/// Whether an object is a buffer that is alive.
pub fn is(x: SEXP) -> bool {
    match shared::room() {
        Some((room, table)) => room.is_buffer(table, x),
        None => BUFFER.address_of(x).is_some(),
    }
}

/// [`get`] of an element of an argument that is a list; counted from 0, told from 1.
#[inline]
pub fn get_element(x: SEXP, list: &str, i: usize) -> Result<Array> {
    if let Some(address) = BUFFER.address_of(x) {
        // SAFETY: as in `get_sexp`.
        return Ok(unsafe { Array::from_handle_ref(&NonNull::new_unchecked(address)).clone() });
    }
    get_sexp(x, &format!("{list}[[{}]]", i + 1))
}

/// Frees a buffer now. Whoever uses it afterwards is told so; releasing it again does nothing. For `pjrtdispatch`.
pub fn release(x: Arg<'_>) -> Result<()> {
    if BUFFER.is_released(x.get()) {
        return Ok(());
    }
    let address = BUFFER.address(x.get(), x.name())?;
    BUFFER.mark_released(x.get());
    // SAFETY: the address was that of an array's handle, whose reference is ours now.
    forget(unsafe { Array::from_handle(NonNull::new_unchecked(address)) });
    Ok(())
}

/// Waits for an array; the user can interrupt.
#[inline]
pub fn wait(array: &Array, argument: &str) -> Result<()> {
    let named = |error| Fault::named(error, argument);
    if array.is_ready().map_err(named)? {
        // An error of the computation appears here.
        return array.await_ready().map_err(named);
    }
    loop {
        // Long enough to cost nothing, short enough for who presses the key.
        if array.await_ready_for(Duration::from_millis(50)).map_err(named)? {
            return Ok(());
        }
        check_interrupt()?;
        printing::show_waiting()?;
    }
}
