//! What only GPUs have.

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{Cx, FromCall};
use crate::ffi::{Call, Error, ErrorCode, Result};

/// The stream of the platform on which a handler puts its work: a `CUstream` on CUDA.
///
/// A parameter `#[ctx] stream: ffi::Stream`. On CPU there is none, and the call is an error of code UNIMPLEMENTED. No GPU
/// was there to run this on.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a>(*mut c_void, PhantomData<&'a ()>);

impl Stream<'_> {
    /// The platform's pointer.
    pub fn as_ptr(self) -> *mut c_void {
        self.0
    }
}

impl<'a> FromCall<'a> for Stream<'a> {
    fn from_call(call: &Call<'a>) -> Result<Stream<'a>> {
        let cx = Cx::of(call)?;
        // SAFETY: the call lasts.
        match unsafe { cx.api.stream(cx.ctx) } {
            Ok(stream) => Ok(Stream(stream, PhantomData)),
            Err(status) => Err(only_on_gpus(status.into(), "stream")),
        }
    }
}

/// Memory of the device for the time of the call.
///
/// A parameter `#[ctx] scratch: ffi::Scratch`. On CPU there is none, and the call is an error of code UNIMPLEMENTED; a
/// `Vec` does the same there. No GPU was there to run this on.
pub struct Scratch<'a> {
    cx: Cx<'a>,
    taken: RefCell<Vec<(usize, *mut c_void)>>,
}

impl Scratch<'_> {
    /// So many bytes of device memory at an address that the alignment, a power of two, divides. They are given back when
    /// the call ends.
    pub fn allocate(&self, size: usize, alignment: usize) -> Result<NonNull<c_void>> {
        if !alignment.is_power_of_two() {
            return Err(Error::invalid_argument(format!(
                "expected a power of two as alignment, got {alignment}"
            )));
        }
        // SAFETY: the call lasts as long as `self`.
        let data = unsafe { self.cx.api.allocate(self.cx.ctx, size, alignment) }?;
        let data = NonNull::new(data).ok_or_else(|| {
            Error::resource_exhausted(format!("the device has no {size} bytes of scratch memory left"))
        })?;
        self.taken.borrow_mut().push((size, data.as_ptr()));
        Ok(data)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        for (size, data) in self.taken.take() {
            // SAFETY: the memory is ours and given back once. There is nobody to tell about a failure.
            let _ = unsafe { self.cx.api.free(self.cx.ctx, size, data) };
        }
    }
}

impl<'a> FromCall<'a> for Scratch<'a> {
    fn from_call(call: &Call<'a>) -> Result<Scratch<'a>> {
        let cx = Cx::of(call)?;
        // Where there is a stream there is such memory, and asking for the stream costs nothing.
        // SAFETY: the call lasts.
        match unsafe { cx.api.stream(cx.ctx) } {
            Ok(_) => Ok(Scratch { cx, taken: RefCell::default() }),
            Err(status) => Err(only_on_gpus(status.into(), "scratch memory")),
        }
    }
}

#[cold]
fn only_on_gpus(error: Error, what: &str) -> Error {
    match error.code() {
        ErrorCode::Unimplemented | ErrorCode::Unknown => {
            Error::unimplemented(format!("this platform has no {what}, which is there on GPUs only: {error}"))
        }
        _ => error,
    }
}
