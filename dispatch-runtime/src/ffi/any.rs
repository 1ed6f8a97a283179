//! Buffers of an element type that is known only when the handler runs, tokens, and arguments without data.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

use super::buffer::{Argument, Buffer, BufferMut, Described, Named, Output, Want, make_bools};
use super::slot::{Slot, Span};
use super::{DataType, Error, Result, check};
use crate::aval::shape_text;
use crate::{DType, Element};

/// An argument of any element type: its bytes, and typed views of them.
#[derive(Clone, Copy)]
pub struct AnyBuffer<'a> {
    slot: Slot<'a>,
    bytes: usize,
    dims: &'a [i64],
    name: Named,
}

/// A result of any element type.
pub struct AnyBufferMut<'a> {
    slot: Slot<'a>,
    bytes: usize,
    dims: &'a [i64],
    name: Named,
    exclusive: PhantomData<&'a mut [u8]>,
}

/// An argument whose contents a result takes over, by `#[ret(alias = …)]`: it has a shape, and its data are read through
/// that result.
#[derive(Clone, Copy)]
pub struct Aliased<'a> {
    slot: Slot<'a>,
    bytes: usize,
    dims: &'a [i64],
}

/// A token, which orders calls and has no data.
#[derive(Clone, Copy, Debug)]
pub struct Token(());

// SAFETY: a shared slice of bytes with a shape.
unsafe impl Send for AnyBuffer<'_> {}
// SAFETY: as above.
unsafe impl Sync for AnyBuffer<'_> {}
// SAFETY: an exclusive slice of bytes with a shape.
unsafe impl Send for AnyBufferMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for AnyBufferMut<'_> {}
// SAFETY: a shape.
unsafe impl Send for Aliased<'_> {}
// SAFETY: as above.
unsafe impl Sync for Aliased<'_> {}

/// The bytes and the sizes of a slot that is as wanted.
#[inline(always)]
fn any<'a>(slot: Slot<'a>, want: Want) -> Option<(usize, &'a [i64])> {
    if !want.allows(slot) {
        return None;
    }
    let extent = slot.own_extent()?;
    // Aligned for the element type, so that a typed view of it has only the type to check.
    let align = slot.data_type().dtype().map_or(1, check::alignment);
    let there = extent.bytes == 0 || (!slot.data().is_null() && slot.data() as usize % align == 0);
    there.then_some((extent.bytes, extent.dims))
}

impl<'a> Argument<'a> for AnyBuffer<'a> {
    #[inline(always)]
    fn decode(slot: Slot<'a>, want: Want, name: Named) -> Option<Self> {
        let (bytes, dims) = any(slot, want)?;
        Some(AnyBuffer { slot, bytes, dims, name })
    }
}

impl<'a> Output<'a> for AnyBufferMut<'a> {
    #[inline(always)]
    fn decode(slot: Slot<'a>, want: Want, name: Named) -> Option<Self> {
        let (bytes, dims) = any(slot, want)?;
        Some(AnyBufferMut { slot, bytes, dims, name, exclusive: PhantomData })
    }
}

impl<'a> Argument<'a> for Aliased<'a> {
    #[inline(always)]
    fn decode(slot: Slot<'a>, want: Want, _: Named) -> Option<Self> {
        let (bytes, dims) = any(slot, want)?;
        Some(Aliased { slot, bytes, dims })
    }
}

fn token(slot: Slot<'_>) -> Option<Token> {
    (slot.data_type() == DataType::TOKEN && slot.rank() == 0).then_some(Token(()))
}

impl<'a> Argument<'a> for Token {
    #[inline]
    fn decode(slot: Slot<'a>, _: Want, _: Named) -> Option<Self> {
        token(slot)
    }
}

impl<'a> Output<'a> for Token {
    #[inline]
    fn decode(slot: Slot<'a>, _: Want, _: Named) -> Option<Self> {
        token(slot)
    }
}

macro_rules! common {
    ($name:ident) => {
        impl<'a> $name<'a> {
            /// The element type as XLA has it, with those that the signature language does not know.
            #[inline(always)]
            pub fn data_type(&self) -> DataType {
                self.slot.data_type()
            }

            /// The dtype, if the signature language knows it.
            #[inline(always)]
            pub fn dtype(&self) -> Option<DType> {
                self.data_type().dtype()
            }

            /// The sizes, outermost first; empty for a scalar.
            #[inline(always)]
            pub fn shape(&self) -> &'a [i64] {
                self.dims
            }

            /// The number of dimensions.
            #[inline(always)]
            pub fn rank(&self) -> usize {
                self.dims.len()
            }

            /// The size of a dimension, counted from 0.
            ///
            /// # Panics
            ///
            /// If there are no more than `i` dimensions.
            #[inline(always)]
            #[track_caller]
            pub fn dim(&self, i: usize) -> usize {
                self.dims[i] as usize
            }

            /// The number of elements.
            #[allow(clippy::len_without_is_empty)] // a scalar has length 1: "empty" would be asked of the wrong thing
            pub fn len(&self) -> usize {
                self.dims.iter().product::<i64>() as usize
            }

            /// The number of bytes; packed elements share them.
            pub fn size_bytes(&self) -> usize {
                self.bytes
            }
        }

        impl Described for $name<'_> {
            #[inline(always)]
            fn data_type(&self) -> DataType {
                self.slot.data_type()
            }

            #[inline(always)]
            fn shape(&self) -> &[i64] {
                self.dims
            }

            #[inline(always)]
            fn span(&self) -> Span {
                if self.bytes == 0 { Span::EMPTY } else { Span::new(self.slot.data().cast(), self.bytes) }
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}{})", stringify!($name), self.data_type(), shape_text(self.dims))
            }
        }
    };
}

common!(AnyBuffer);
common!(AnyBufferMut);
common!(Aliased);

/// The error of a typed view of something else.
#[cold]
fn not_typed<T: Element>(role: &str, name: Named, slot: Slot<'_>) -> Error {
    let expected = T::DTYPE.name();
    match check::no_slice(slot) {
        Some(wrong) if slot.data_type() == DataType::of(T::DTYPE) => {
            Error::internal(format!("{role} {name}: {wrong}"))
        }
        _ => Error::internal(format!("{role} {name}: expected dtype {expected}, got {}", slot.data_type())),
    }
}

impl<'a> AnyBuffer<'a> {
    /// The address of the data, which is one of the device's memory; any address, if there are none.
    #[inline]
    pub fn as_ptr(&self) -> *const c_void {
        self.slot.data()
    }

    /// The bytes of the elements. Those of fewer than 8 bits stand packed, the first in the lowest bits: see
    /// [`DataType::bytes`].
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        let data = if self.bytes == 0 { NonNull::dangling().as_ptr() } else { self.slot.data().cast::<u8>() };
        // SAFETY: the bytes are there for `'a`, and written by nobody meanwhile.
        unsafe { slice::from_raw_parts(data, self.bytes) }
    }

    /// The buffer with its element type known to Rust.
    ///
    /// ```
    /// # use dispatch_runtime::{DType, ffi::{self, AnyBuffer}};
    /// fn sum(x: AnyBuffer<'_>) -> ffi::Result<f64> {
    ///     Ok(match x.dtype() {
    ///         Some(DType::F32) => x.typed::<f32>()?.iter().map(|v| f64::from(*v)).sum(),
    ///         _ => x.typed::<f64>()?.iter().sum(), // an error that names `x` if it is no f64 either
    ///     })
    /// }
    /// ```
    pub fn typed<T: Element>(&self) -> Result<Buffer<'a, T>> {
        Buffer::decode(self.slot, Want::ANY, self.name)
            .ok_or_else(|| not_typed::<T>("argument", self.name, self.slot))
    }
}

impl<'a> AnyBufferMut<'a> {
    /// The address of the data, which is one of the device's memory; any address, if there are none.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.slot.data()
    }

    /// The bytes of the elements.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are there for as long as the buffer is, and are its own.
        unsafe { slice::from_raw_parts(self.pointer(), self.bytes) }
    }

    /// The bytes of the elements. Those of fewer than 8 bits stand packed, the first in the lowest bits: see
    /// [`DataType::bytes`].
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.pointer(), self.bytes) }
    }

    fn pointer(&self) -> *mut u8 {
        if self.bytes == 0 { NonNull::dangling().as_ptr() } else { self.slot.data().cast() }
    }

    /// The buffer with its element type known to Rust.
    pub fn typed<T: Element>(self) -> Result<BufferMut<'a, T>> {
        let (slot, name) = (self.slot, self.name);
        BufferMut::decode(slot, Want::ANY, name).ok_or_else(|| not_typed::<T>("result", name, slot))
    }

    /// As [`typed`](Self::typed), for as long as this buffer is borrowed.
    pub fn typed_mut<T: Element>(&mut self) -> Result<BufferMut<'_, T>> {
        BufferMut::decode(self.slot, Want::ANY, self.name)
            .ok_or_else(|| not_typed::<T>("result", self.name, self.slot))
    }
}

/// Lets a result take over the contents of an argument: nothing to do if the program gave both the same memory, as
/// aliased operands have, else a copy. False if they are not equally large.
#[inline]
pub fn inherit(from: &Aliased<'_>, to: &mut impl Described) -> bool {
    let is_bool = to.data_type() == DataType::of(DType::Bool);
    let (from, to) = (from.span(), to.span());
    if from.bytes != to.bytes {
        return false;
    }
    if from.start != to.start {
        // SAFETY: both are as large as the buffers say; nobody uses the result's memory but its only reference, and
        // whether they overlap does not matter here.
        unsafe { ptr::copy(from.start as *const u8, to.start as *mut u8, from.bytes) }
        // The result has been decoded, so its bytes are `bool`s that may have been replaced by others.
        if let (true, Some(data)) = (is_bool, NonNull::new(to.start as *mut u8)) {
            // SAFETY: as above; a bool is a byte.
            unsafe { make_bools(data, to.bytes) }
        }
    }
    true
}
