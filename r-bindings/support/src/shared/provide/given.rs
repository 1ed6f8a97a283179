//! Buffers of other packages that R gets.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use dispatch_runtime::array::Owner;
use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::engine::pjrt::codes;
use dispatch_runtime::{Array, Aval, DType, Device};
use smallvec::SmallVec;

use super::super::abi::*;
use super::{guarded, named_device};
use crate::anvl::{self, FIELDS};
use crate::arg::slice;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::root::Root;
use crate::unwind::protect;
use crate::{buffer, client, memory};

/// A buffer of the other side that was looked at.
#[derive(Clone, Copy)]
struct Given<'a> {
    device: Device,
    dtype: DType,
    shape: &'a [i64],
    new: NewBuffer,
}

impl Given<'_> {
    /// What the other side says of a buffer, whatever that is.
    ///
    /// # Safety
    ///
    /// As for [`read`], and the sizes are there.
    unsafe fn described(given: *const NewBuffer) -> Result<Self> {
        // SAFETY: by the caller's promise; zero is "absent" in every field.
        let new = unsafe { read(given) };
        let device = named_device(new.client, new.device)?;
        let wrong = |name: &str, expected: &str, got: String| {
            Fault::argument("value", name.to_owned(), expected, got)
        };
        let dtype = codes::dtype(new.dtype)
            .ok_or_else(|| wrong("dtype", "a PJRT_Buffer_Type that R has", new.dtype.to_string()))?;
        let shape: &[i64] = match new.rank {
            0 => &[],
            rank if rank > 1000 || new.dims.is_null() => {
                return Err(wrong("dims", "the sizes of a buffer", format!("rank {rank} at {:p}", new.dims)));
            }
            // SAFETY: the caller's sizes.
            rank => unsafe { std::slice::from_raw_parts(new.dims, rank) },
        };
        if let Some(size) = shape.iter().find(|&&size| size < 0) {
            return Err(wrong("dims", "sizes of 0 or more", size.to_string()));
        }
        Ok(Given { device, dtype, shape, new })
    }
}

/// The array that owns a buffer, or refers to its owner.
///
/// # Safety
///
/// The buffer is one of the device's plugin, has this dtype and shape, and is given up here, once. The owner, if there is
/// one, is as [`NewBuffer`] says.
#[inline]
unsafe fn take_over(
    device: Device,
    dtype: DType,
    shape: &[i64],
    buffer: NonNull<c_void>,
    owner: Option<BufferOwner>,
) -> Array {
    let (client, index) = (device.client(), device.index());
    // SAFETY: by the caller's promise.
    unsafe {
        let buffer = RawBuffer::new(buffer);
        match owner {
            Some(BufferOwner { owner: object, donation, release: Some(release) }) => {
                let owner = Owner { object, donation: donation.unwrap_or(unasked), release };
                Array::from_owner(client, buffer, index, dtype, shape, owner)
            }
            _ => Array::from_raw(client, buffer, index, dtype, shape),
        }
    }
}

/// The buffer that the other side gives.
#[inline]
fn given(buffer: *mut c_void) -> Result<NonNull<c_void>> {
    NonNull::new(buffer).ok_or_else(|| Fault::argument("value", "buffer", "a PJRT_Buffer", "null"))
}

pub(super) unsafe extern "C" fn new_buffer(new: *const NewBuffer, out: *mut SEXP) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size.
        let Given { device, dtype, shape, new } = unsafe { Given::described(new) }?;
        let buffer = given(new.buffer)?;
        let owner = BufferOwner { owner: new.owner, donation: new.donation, release: new.release };
        memory::make_room()?;
        // Nothing is taken over before it is sure that nothing fails any more.
        let object = buffer::reserve()?;
        // SAFETY: the caller's buffer is one of the client's plugin, and has this dtype and shape. The object was reserved
        // for it, nothing of R has run since, and the pointer is the caller's.
        unsafe {
            buffer::complete(object, take_over(device, dtype, shape, buffer, Some(owner)));
            out.write(object);
        }
        Ok(())
    })
}

/// What the arrays of a template are: its `$data`, which no array has.
struct Like {
    device: Device,
    dtype: DType,
    shape: Box<[i64]>,
}

impl Handle for Like {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTTemplate", "pjrtdispatch template 1");
        &KIND
    }
}

impl Like {
    /// What a template says.
    ///
    /// # Safety
    ///
    /// R keeps the template for `'a`.
    #[inline]
    unsafe fn of<'a>(template: SEXP) -> Result<&'a Like> {
        if TYPEOF(template) == VECSXP && Rf_xlength(template) == FIELDS.len() as Length {
            // SAFETY: the list has the element, and keeps it.
            return unsafe { handle::get(VECTOR_ELT(template, 0), "templates") };
        }
        Err(Fault::argument("type", "templates", "what `template` gave", "another object"))
    }

    /// # Safety
    ///
    /// As for [`take_over`].
    #[inline]
    unsafe fn take_over(&self, buffer: NonNull<c_void>, owner: Option<BufferOwner>) -> Array {
        // SAFETY: by the caller's promise.
        unsafe { take_over(self.device, self.dtype, &self.shape, buffer, owner) }
    }
}

pub(super) unsafe extern "C" fn template(like: *const NewBuffer, out: *mut SEXP) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size.
        let like = unsafe { Given::described(like) }?;
        let (atoms, aval) = (anvl::atoms()?, Aval::new(like.dtype, like.shape));
        let (aval, device) = (&aval, client::device_object(like.device)?);
        let like = handle::wrap(Like { device: like.device, dtype: like.dtype, shape: like.shape.into() })?;
        let like = Root::new(like)?;
        let kept = like.get();
        // SAFETY: the list is protected while it is filled, R never collects the device, and the pointer is the caller's.
        let object = protect(|| unsafe {
            let object = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
            SET_VECTOR_ELT(object, 0, kept);
            anvl::make_template(object, atoms, aval, device);
            Rf_unprotect(1);
            object
        })?;
        // SAFETY: the caller's pointer.
        unsafe { out.write(object) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn new_arrays(
    buffers: *const *mut c_void,
    owners: *const BufferOwner,
    templates: *const SEXP,
    count: usize,
    out: *mut SEXP,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's buffers and templates, as many.
        let (buffers, templates) = unsafe { (slice(buffers, count), slice(templates, count)) };
        // SAFETY: as many owners, if there are any.
        let owner = |i: usize| unsafe { (!owners.is_null()).then(|| *owners.add(i)) };
        memory::make_room()?;
        let (symbol, classes) = buffer::BUFFER.prepare()?;
        // One without data yet, not protected.
        // SAFETY: inside `protect`; each new object is kept by one that is protected, and has room for what it gets.
        let unfinished = |template: SEXP| unsafe {
            let array = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
            anvl::fill(array, template, symbol, classes);
            Rf_unprotect(1);
            array
        };
        if let ([template], [buffer]) = (templates, buffers) {
            // SAFETY: the caller keeps the template.
            let (like, buffer) = (unsafe { Like::of(*template) }?, given(*buffer)?);
            let template = *template;
            let array = protect(|| unfinished(template))?;
            // SAFETY: the caller's buffer is one of the device's plugin, and has this dtype and shape. The object was made for
            // it, nothing of R has run since, and the pointer is the caller's.
            unsafe {
                buffer::complete(VECTOR_ELT(array, 0), like.take_over(buffer, owner(0)));
                out.write(array);
            }
            return Ok(());
        }
        let all: SmallVec<[_; 4]> = templates
            .iter()
            .zip(buffers)
            // SAFETY: the caller keeps the templates.
            .map(|(&template, &buffer)| Ok((unsafe { Like::of(template) }?, given(buffer)?)))
            .collect::<Result<_>>()?;
        // SAFETY: the list is protected, and has room for what it gets.
        let list = protect(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, count as Length));
            for (i, &template) in templates.iter().enumerate() {
                SET_VECTOR_ELT(list, i as Length, unfinished(template));
            }
            Rf_unprotect(1);
            list
        })?;
        for (i, (like, buffer)) in all.into_iter().enumerate() {
            // SAFETY: as for one.
            unsafe {
                let array = VECTOR_ELT(list, i as Length);
                buffer::complete(VECTOR_ELT(array, 0), like.take_over(buffer, owner(i)));
            }
        }
        // SAFETY: the caller's pointer.
        unsafe { out.write(list) };
        Ok(())
    })
}

/// For an owner who need not know of donations.
unsafe extern "C" fn unasked(_: *mut c_void, _: u32) -> u32 {
    0
}
