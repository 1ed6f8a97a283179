//! Buffers of `pjrtdispatch` that other packages look at and refer to.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null};

use dispatch_runtime::Array;
use dispatch_runtime::array::Donation;
use dispatch_runtime::engine::pjrt::codes;

use super::super::abi::*;
use super::{Told, guarded, name, tell, told};
use crate::ffi::*;
use crate::{buffer, main_thread};

pub(super) unsafe extern "C" fn is_buffer(x: SEXP) -> c_int {
    (!main_thread::is_other() && buffer::BUFFER.address_of(x).is_some()).into()
}

pub(super) unsafe extern "C" fn look(x: SEXP, argument: *const c_char, out: *mut BufferInfo) -> c_int {
    guarded(|| {
        // SAFETY: the caller's text.
        let address = buffer::BUFFER.address(x, &unsafe { name(argument) })?;
        // SAFETY: the address of a buffer is that of an array's handle; the caller keeps the R object.
        let handle = unsafe { NonNull::new_unchecked(address) };
        // SAFETY: as above.
        let array = unsafe { Array::from_handle_ref(&handle) };
        // SAFETY: the caller's struct, which states its size.
        unsafe { fill(out, info(address, array, tell(array.client())?)) };
        Ok(())
    })
}

/// What a buffer is, whose client is known to other packages.
#[inline]
fn info(handle: *mut c_void, array: &Array, told: &'static Told) -> BufferInfo {
    BufferInfo {
        size: 0,
        handle,
        buffer: array.raw().as_ptr(),
        client: std::ptr::from_ref(told).cast(),
        device: array.device().index() as i32,
        dtype: codes::buffer_type(array.dtype()),
        // Part of the handle, which the R object keeps.
        dims: array.shape().as_ptr(),
        rank: array.rank(),
        donated: array.is_donated().into(),
    }
}

// Each argument of each call comes here: the good path runs nothing that could fail or panic, so that it needs no guard.
pub(super) unsafe extern "C" fn borrow(x: SEXP, out: *mut BufferInfo) -> c_int {
    if main_thread::check().is_err() {
        return 1;
    }
    let Some(handle) = buffer::BUFFER.address_of(x).and_then(NonNull::new) else { return 1 };
    // SAFETY: the address of a buffer is that of an array's handle; the caller keeps the R object.
    let array = unsafe { Array::from_handle_ref(&handle) };
    let Some(told) = told(array.client()) else { return borrow_first(x, out) };
    // SAFETY: the caller's struct, which states its size.
    unsafe { fill(out, info(handle.as_ptr(), array, told)) };
    std::mem::forget(array.clone());
    0
}

/// [`borrow`] of the first buffer of a client.
#[cold]
fn borrow_first(x: SEXP, out: *mut BufferInfo) -> c_int {
    // SAFETY: the caller's struct, which states its size; the handle that it gets is alive.
    unsafe {
        if look(x, null(), out) != 0 {
            return 1;
        }
        retain((*out).handle);
    }
    0
}

pub(super) unsafe extern "C" fn retain(handle: *mut c_void) {
    if let Some(handle) = NonNull::new(handle) {
        // SAFETY: the caller's handle is alive; the new reference is the caller's.
        std::mem::forget(unsafe { Array::from_handle_ref(&handle).clone() });
    }
}

pub(super) unsafe extern "C" fn release(handle: *mut c_void) {
    // In a forked child the plugin's threads are gone.
    if let (Some(handle), false) = (NonNull::new(handle), main_thread::is_forked()) {
        // SAFETY: the caller gives up a reference.
        drop(unsafe { Array::from_handle(handle) });
    }
}

pub(super) unsafe extern "C" fn donation(handle: *mut c_void, what: u32) -> u32 {
    let Some(handle) = NonNull::new(handle) else { return 1 };
    // SAFETY: the caller's handle is alive.
    let array = unsafe { Array::from_handle_ref(&handle) };
    if what == Donation::Give as u32 {
        (!array.donate()).into()
    } else if what == Donation::TakeBack as u32 {
        // SAFETY: the caller says that the donation was its own, and has failed.
        unsafe { array.take_back() };
        1
    } else {
        array.is_donated().into()
    }
}
