//! What a call passes: device arrays, host values, and in `warm` abstract values.

use super::{OutInfo, Ready, Source};
use crate::array::{Array, tag};
use crate::host::{Converted, Element, HostView};
use crate::leaf::{Leaf, LeafKind};
use crate::signature::Scope;
use crate::{Aval, DType, Result};

/// One dynamic argument of a call, borrowed.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// An array on a device.
    Device(&'a Array),
    /// A value of the host.
    Host(HostView<'a>),
    /// Data of the host in a form of its own, which only its [`Ready`] reads: dtype and shape.
    Data(DType, &'a [i64]),
    /// What a converter gave for an object: an array, or data that only its [`Ready`] reads.
    Object(&'a dyn Leaf),
    /// Only dtype and shape.
    Abstract(&'a Aval),
    /// A slice whose shape has another number of elements.
    BadLength(DType, usize, &'a [i64]),
}

impl<'a> Arg<'a> {
    /// The sizes, for as long as the argument is borrowed: longer than [`Leaf::shape`] of a copy.
    #[inline(always)]
    pub fn shape(self) -> &'a [i64] {
        match self {
            Arg::Device(array) => array.shape(),
            Arg::Host(view) => view.shape(),
            Arg::Data(_, shape) => shape,
            Arg::Object(leaf) => leaf.shape(),
            Arg::Abstract(aval) => aval.shape(),
            Arg::BadLength(_, _, shape) => shape,
        }
    }
}

impl Leaf for Arg<'_> {
    #[inline(always)]
    fn kind(&self) -> LeafKind<'_> {
        match *self {
            Arg::Device(array) => LeafKind::Device(array),
            Arg::Host(_) | Arg::Data(..) => LeafKind::Host,
            Arg::Object(leaf) => leaf.kind(),
            Arg::Abstract(aval) => LeafKind::Abstract(aval),
            Arg::BadLength(_, len, shape) => LeafKind::BadLength { len, shape },
        }
    }

    #[inline(always)]
    fn tag(&self) -> u32 {
        match *self {
            Arg::Device(array) => array.tag(),
            Arg::Object(leaf) => leaf.tag(),
            _ => tag(self.dtype(), self.shape().len()),
        }
    }

    #[inline(always)]
    fn dtype(&self) -> DType {
        match *self {
            Arg::Device(array) => array.dtype(),
            Arg::Host(view) => view.dtype(),
            Arg::Object(leaf) => leaf.dtype(),
            Arg::Abstract(aval) => aval.dtype(),
            Arg::Data(dtype, _) | Arg::BadLength(dtype, ..) => dtype,
        }
    }

    #[inline(always)]
    fn shape(&self) -> &[i64] {
        Arg::shape(*self)
    }

    fn converter(&self) -> Option<&str> {
        match *self {
            Arg::Object(leaf) => leaf.converter(),
            _ => None,
        }
    }

    #[inline(always)]
    fn size(&self, rank: usize, i: usize) -> i64 {
        match *self {
            Arg::Device(array) => array.size(rank, i),
            _ => self.shape().get(i).copied().unwrap_or(-1),
        }
    }
}

/// What can be passed for a dynamic argument: an [`Array`] or a reference to one, a host scalar, a host slice, array
/// or vector (of rank 1), a pair `(&slice, shape)` with a row-major shape, or a [`HostView`] with any strides.
///
/// ```
/// # use dispatch_runtime::prelude::*;
/// # fn takes(_: impl Dynamic) {}
/// takes(2.0);                            // a scalar
/// takes(&[1f32, 2.0]);                   // f32[2]
/// takes((&[1i32, 2, 3, 4][..], [2, 2])); // i32[2,2]
/// takes(HostView::column_major(&[1i32, 2, 3, 4], &[2, 2])?); // of the columns 1 2 and 3 4
/// # Ok::<(), Error>(())
/// ```
///
/// # Safety
///
/// What a call does with the argument is decided by [`Dynamic::Ready`], whose buffer is given to the program: it has to
/// be a live one of the call's client and device, with the dtype and shape that [`Dynamic::arg`] shows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a dynamic argument",
    label = "neither an array nor a host value",
    note = "pass `&Array`, a scalar of an element type, a slice, `(&slice, [sizes…])`, or a `HostView`"
)]
pub unsafe trait Dynamic {
    /// What a call holds of the argument once it is checked.
    #[doc(hidden)]
    type Ready<'a>: Ready<'a>
    where
        Self: 'a;

    /// Makes the argument ready to be looked at, before all else: it is that of this field. Asks a converter, where there is
    /// one.
    #[doc(hidden)]
    #[inline(always)]
    fn open(&self, scope: &'static Scope, field: usize) -> Result<()> {
        let _ = (scope, field);
        Ok(())
    }

    /// The object that a result can be written back into; none if nothing can.
    #[doc(hidden)]
    #[inline(always)]
    fn source(&self) -> Option<Source<'_>> {
        None
    }

    /// An error if a result cannot be written back into what was passed.
    #[doc(hidden)]
    #[inline(always)]
    fn check_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        let _ = (result, info);
        Ok(())
    }

    /// Writes a result back into what was passed. Arrays and host values stay what they are.
    #[doc(hidden)]
    #[inline(always)]
    fn write_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        let _ = (result, info);
        Ok(())
    }

    /// The argument, borrowed. `room` holds the shape of a slice that has none of its own.
    fn arg<'a>(&'a self, room: &'a mut [i64; 1]) -> Arg<'a>;

    /// What a call holds of the argument, which was checked: a host value is converted to `dtype` here. `arg` is what
    /// [`Dynamic::arg`] gave, `name` the argument's.
    #[doc(hidden)]
    #[inline(always)]
    fn ready<'a>(&'a self, arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Self::Ready<'a>> {
        Ready::new(arg, dtype, name)
    }
}

// SAFETY: an array is itself.
unsafe impl Dynamic for Array {
    type Ready<'a> = &'a Array;

    #[inline(always)]
    fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
        Arg::Device(self)
    }
}

macro_rules! scalars {
    ($($ty:ty)*) => {
        $(
        // SAFETY: a host value is uploaded for the call.
        unsafe impl Dynamic for $ty {
            type Ready<'a> = Converted<'a>;

            #[inline(always)]
            fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
                Arg::Host(HostView::scalar(self))
            }
        })*
    };
}

scalars! {
    bool i8 i16 i32 i64 u8 u16 u32 u64 half::f16 half::bf16 f32 f64
    num_complex::Complex<f32> num_complex::Complex<f64>
}

// SAFETY: a host value is uploaded for the call.
unsafe impl Dynamic for HostView<'_> {
    type Ready<'a>
        = Converted<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
        Arg::Host(*self)
    }
}

// SAFETY: what `D` is.
unsafe impl<D: Dynamic + ?Sized> Dynamic for &D {
    type Ready<'a>
        = D::Ready<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn open(&self, scope: &'static Scope, field: usize) -> Result<()> {
        (**self).open(scope, field)
    }

    #[inline(always)]
    fn source(&self) -> Option<Source<'_>> {
        (**self).source()
    }

    #[inline(always)]
    fn check_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        (**self).check_back(result, info)
    }

    #[inline(always)]
    fn write_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        (**self).write_back(result, info)
    }

    #[inline(always)]
    fn arg<'a>(&'a self, room: &'a mut [i64; 1]) -> Arg<'a> {
        (**self).arg(room)
    }

    #[inline(always)]
    fn ready<'a>(&'a self, arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Self::Ready<'a>> {
        (**self).ready(arg, dtype, name)
    }
}

// SAFETY: a host value is uploaded for the call.
unsafe impl<T: Element> Dynamic for [T] {
    type Ready<'a>
        = Converted<'a>
    where
        Self: 'a;

    #[inline]
    fn arg<'a>(&'a self, room: &'a mut [i64; 1]) -> Arg<'a> {
        room[0] = self.len() as i64;
        slice(self, room)
    }
}

// SAFETY: a host value is uploaded for the call.
unsafe impl<T: Element, const N: usize> Dynamic for [T; N] {
    type Ready<'a>
        = Converted<'a>
    where
        Self: 'a;

    #[inline]
    fn arg<'a>(&'a self, room: &'a mut [i64; 1]) -> Arg<'a> {
        self[..].arg(room)
    }
}

// SAFETY: a host value is uploaded for the call.
unsafe impl<T: Element> Dynamic for Vec<T> {
    type Ready<'a>
        = Converted<'a>
    where
        Self: 'a;

    #[inline]
    fn arg<'a>(&'a self, room: &'a mut [i64; 1]) -> Arg<'a> {
        self[..].arg(room)
    }
}

macro_rules! with_shape {
    ($($data:ty $(, $n:ident)?;)*) => {
        $(
        // SAFETY: a host value is uploaded for the call.
        unsafe impl<T: Element, S: AsRef<[i64]> $(, const $n: usize)?> Dynamic for (&$data, S) {
            type Ready<'a> = Converted<'a> where Self: 'a;

            #[inline]
            fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
                slice(self.0, self.1.as_ref())
            }
        })*
    };
}

with_shape! {
    [T];
    Vec<T>;
    [T; N], N;
}

#[inline]
fn slice<'a, T: Element>(data: &'a [T], shape: &'a [i64]) -> Arg<'a> {
    match HostView::new(data, shape) {
        Ok(view) => Arg::Host(view),
        Err(_) => Arg::BadLength(T::DTYPE, data.len(), shape),
    }
}
