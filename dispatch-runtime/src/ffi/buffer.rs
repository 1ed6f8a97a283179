//! Buffers with an element type known to Rust.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::DataType;
use super::slot::{Slot, Span};
use crate::aval::shape_text;
use crate::signature::DTypeSpec;
use crate::{DType, Element, host};

/// A rank, as the specialised checks ask for it.
#[derive(Clone, Copy, Debug)]
pub enum Rank {
    /// This one.
    Exactly(usize),
    /// This one or more.
    AtLeast(usize),
}

impl Rank {
    #[inline(always)]
    fn allows(self, rank: i64) -> bool {
        match self {
            Rank::Exactly(n) => rank == n as i64,
            Rank::AtLeast(n) => rank >= n as i64,
        }
    }
}

/// What a parameter wants of its buffer, sizes aside.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The dtypes, [`DTypeSpec::Any`] where another buffer says them. That of a typed buffer is in its type.
    pub dtype: DTypeSpec,
    /// The ranks.
    pub rank: Rank,
}

impl Want {
    /// Anything.
    pub const ANY: Want = Want { dtype: DTypeSpec::Any, rank: Rank::AtLeast(0) };

    /// A buffer of this rank.
    pub const fn rank(dtype: DTypeSpec, rank: usize) -> Want {
        Want { dtype, rank: Rank::Exactly(rank) }
    }

    /// A buffer of at least this rank.
    pub const fn at_least(dtype: DTypeSpec, rank: usize) -> Want {
        Want { dtype, rank: Rank::AtLeast(rank) }
    }

    #[inline(always)]
    pub(super) fn allows(self, slot: Slot<'_>) -> bool {
        let dtype = match self.dtype {
            DTypeSpec::Any => true,
            DTypeSpec::One(dtype) => slot.data_type() == DataType::of(dtype),
            spec => slot.data_type().dtype().is_some_and(|dtype| spec.allows(dtype)),
        };
        dtype && self.rank.allows(slot.rank())
    }
}

/// The name of the parameter that a buffer came by, for messages: `x`, or `rest[2]`.
#[derive(Clone, Copy)]
pub struct Named {
    pub(super) name: &'static str,
    pub(super) index: Option<u32>,
}

impl Named {
    #[inline(always)]
    pub(super) fn of(name: &'static str) -> Named {
        Named { name, index: None }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            None => write!(f, "`{}`", self.name),
            Some(i) => write!(f, "`{}[{i}]`", self.name),
        }
    }
}

/// A type of argument: [`Buffer`], [`AnyBuffer`](super::AnyBuffer), [`Aliased`](super::Aliased) or [`Token`](super::Token).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of argument of a handler",
    note = "arguments are `ffi::Buffer<T>`, `ffi::AnyBuffer`, `ffi::Aliased`, `ffi::Token`"
)]
pub trait Argument<'a>: Sized {
    /// The argument, if it is as wanted.
    #[doc(hidden)]
    fn decode(slot: Slot<'a>, want: Want, name: Named) -> Option<Self>;
}

/// A type of result: [`BufferMut`], [`AnyBufferMut`](super::AnyBufferMut) or [`Token`](super::Token).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of result of a handler",
    note = "results are `ffi::BufferMut<T>`, `ffi::AnyBufferMut`, `ffi::Token`"
)]
pub trait Output<'a>: Sized {
    /// The result, if it is as wanted. At most one is made of a slot.
    #[doc(hidden)]
    fn decode(slot: Slot<'a>, want: Want, name: Named) -> Option<Self>;
}

/// What all buffers have, and what patterns and `like(…)` look at.
pub trait Described {
    /// The element type.
    fn data_type(&self) -> DataType;

    /// The sizes, outermost first.
    fn shape(&self) -> &[i64];

    /// Where the data are.
    #[doc(hidden)]
    fn span(&self) -> Span;
}

macro_rules! described_by_reference {
    ($($reference:ty)*) => {
        $(
            impl<T: Described + ?Sized> Described for $reference {
                #[inline(always)]
                fn data_type(&self) -> DataType {
                    (**self).data_type()
                }

                #[inline(always)]
                fn shape(&self) -> &[i64] {
                    (**self).shape()
                }

                #[inline(always)]
                fn span(&self) -> Span {
                    (**self).span()
                }
            }
        )*
    };
}

described_by_reference! { &T &mut T }

/// The data of a buffer that may be absent.
#[inline(always)]
pub fn span(buffer: Option<&impl Described>) -> Span {
    buffer.map_or(Span::EMPTY, Described::span)
}

/// The sizes before the last `rank` ones, as a body sees them.
#[inline]
pub fn leading(buffer: &impl Described, rank: usize) -> Vec<usize> {
    crate::family::lead(buffer.shape(), rank).iter().map(|n| *n as usize).collect()
}

/// An argument: a shared slice with a shape, dense and in row-major order.
///
/// ```
/// # use dispatch_runtime::ffi::Buffer;
/// fn mean(x: Buffer<'_, f64>) -> f64 {
///     x.iter().sum::<f64>() / x.len() as f64
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Buffer<'a, T> {
    data: NonNull<T>,
    len: usize,
    dims: &'a [i64],
    elements: PhantomData<&'a [T]>,
}

// SAFETY: a shared slice, by another name.
unsafe impl<T: Sync> Send for Buffer<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Buffer<'_, T> {}

/// A result: an exclusive slice with a shape, dense and in row-major order.
///
/// What it holds before the handler writes is not defined, unless it takes over an argument's contents (`alias`). All
/// of it is to be written.
pub struct BufferMut<'a, T> {
    data: NonNull<T>,
    len: usize,
    dims: &'a [i64],
    elements: PhantomData<&'a mut [T]>,
}

// SAFETY: an exclusive slice, by another name.
unsafe impl<T: Send> Send for BufferMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for BufferMut<'_, T> {}

/// Data, number of elements and shape of a slot of this element type and rank.
#[inline(always)]
fn typed<'a, T: Element>(slot: Slot<'a>, rank: Rank) -> Option<(NonNull<T>, usize, &'a [i64])> {
    if slot.data_type() != DataType::of(T::DTYPE) || !rank.allows(slot.rank()) {
        return None;
    }
    let extent = slot.extent(size_of::<T>())?;
    Some((slot.pointer(extent.bytes)?, extent.len, extent.dims))
}

impl<'a, T: Element> Argument<'a> for Buffer<'a, T> {
    #[inline(always)]
    fn decode(slot: Slot<'a>, want: Want, _: Named) -> Option<Self> {
        let (data, len, dims) = typed::<T>(slot, want.rank)?;
        // SAFETY: `len` elements are there, if only as bytes.
        if T::DTYPE == DType::Bool && unsafe { find_no_bool(data.cast(), len) }.is_some() {
            return None;
        }
        Some(Buffer { data, len, dims, elements: PhantomData })
    }
}

impl<'a, T: Element> Output<'a> for BufferMut<'a, T> {
    #[inline(always)]
    fn decode(slot: Slot<'a>, want: Want, _: Named) -> Option<Self> {
        let (data, len, dims) = typed::<T>(slot, want.rank)?;
        if T::DTYPE == DType::Bool {
            // SAFETY: `len` elements are there, if only as bytes, and nobody else uses them.
            unsafe { make_bools(data.cast(), len) }
        }
        Some(BufferMut { data, len, dims, elements: PhantomData })
    }
}

/// The first byte that is no `bool` (XLA makes none, but a buffer can be uploaded with one).
///
/// # Safety
///
/// There are `len` bytes.
pub(super) unsafe fn find_no_bool(data: NonNull<u8>, len: usize) -> Option<usize> {
    // SAFETY: by the contract.
    let bytes = unsafe { slice::from_raw_parts(data.as_ptr(), len) };
    if host::are_bools(bytes) { None } else { bytes.iter().position(|byte| *byte > 1) }
}

/// Makes what memory happens to hold into `bool`s, leaving those that are.
///
/// # Safety
///
/// There are `len` bytes that nobody else uses.
pub(super) unsafe fn make_bools(data: NonNull<u8>, len: usize) {
    // SAFETY: by the contract.
    host::make_bools(unsafe { slice::from_raw_parts_mut(data.as_ptr(), len) });
}

macro_rules! common {
    ($name:ident) => {
        impl<'a, T: Element> $name<'a, T> {
            /// The dtype, which is that of `T`.
            pub fn dtype(&self) -> DType {
                T::DTYPE
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
        }

        impl<T: Element> Described for $name<'_, T> {
            #[inline(always)]
            fn data_type(&self) -> DataType {
                DataType::of(T::DTYPE)
            }

            #[inline(always)]
            fn shape(&self) -> &[i64] {
                self.dims
            }

            #[inline(always)]
            fn span(&self) -> Span {
                Span::new(self.data.as_ptr().cast(), self.len * size_of::<T>())
            }
        }

        impl<T> Deref for $name<'_, T> {
            type Target = [T];

            #[inline(always)]
            fn deref(&self) -> &[T] {
                // SAFETY: `len` elements are there for as long as the buffer is, and written by nobody else meanwhile.
                unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
            }
        }

        impl<T: Element> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}{})", stringify!($name), T::DTYPE.name(), shape_text(self.dims))
            }
        }
    };
}

common!(Buffer);
common!(BufferMut);

impl<'a, T> Buffer<'a, T> {
    /// The data, for as long as the call lasts; `&x[..]` gives them for as long as `x` is borrowed.
    #[inline(always)]
    pub fn as_slice(&self) -> &'a [T] {
        // SAFETY: the elements are there for `'a`, and written by nobody meanwhile.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<'a, T> BufferMut<'a, T> {
    /// The data, for as long as the call lasts.
    #[inline(always)]
    pub fn into_slice(self) -> &'a mut [T] {
        // SAFETY: the elements are there for `'a` and nobody else's, and `self` is gone.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for BufferMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements are there for as long as the buffer is, and are its own.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}
