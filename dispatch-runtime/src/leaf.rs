//! What stands where a signature wants an array.

use crate::array::{Array, tag};
use crate::host::HostView;
use crate::{Aval, DType};

/// Something with a dtype and a shape that stands where a signature wants an array.
///
/// Seen by the specialised checks of a stub (as a type known to the compiler) and by the reference check (as `dyn`).
pub trait Leaf {
    /// What it is.
    fn kind(&self) -> LeafKind<'_>;

    /// Dtype and rank in one word, the dtype in the low byte.
    fn tag(&self) -> u32;

    /// The element type.
    fn dtype(&self) -> DType;

    /// The sizes, outermost first.
    fn shape(&self) -> &[i64];

    /// Strides and offset, in elements and in the one form that a layout has; none if it is dense.
    #[inline(always)]
    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        None
    }

    /// The converter that gave it, if one did, by its description.
    #[inline(always)]
    fn converter(&self) -> Option<&str> {
        None
    }

    /// The size of a dimension, counted from 0, if there are `rank` of them; else any number.
    #[inline(always)]
    fn size(&self, _rank: usize, i: usize) -> i64 {
        self.shape().get(i).copied().unwrap_or(-1)
    }
}

/// The kinds of [`Leaf`].
pub enum LeafKind<'a> {
    /// An array on a device.
    Device(&'a Array),
    /// A value of the host, uploaded at the dtype that the signature gives it.
    Host,
    /// Only dtype and shape, in `warm`.
    Abstract(&'a Aval),
    /// A slice whose shape has another number of elements.
    BadLength {
        /// The elements of the slice.
        len: usize,
        /// The shape.
        shape: &'a [i64],
    },
}

impl Leaf for Array {
    #[inline(always)]
    fn kind(&self) -> LeafKind<'_> {
        LeafKind::Device(self)
    }

    #[inline(always)]
    fn tag(&self) -> u32 {
        Array::tag(self)
    }

    #[inline(always)]
    fn dtype(&self) -> DType {
        Array::dtype(self)
    }

    #[inline(always)]
    fn shape(&self) -> &[i64] {
        Array::shape(self)
    }

    #[inline(always)]
    fn size(&self, rank: usize, i: usize) -> i64 {
        Array::size(self, rank, i)
    }
}

impl<L: Leaf + ?Sized> Leaf for &L {
    #[inline(always)]
    fn kind(&self) -> LeafKind<'_> {
        (**self).kind()
    }

    #[inline(always)]
    fn tag(&self) -> u32 {
        (**self).tag()
    }

    #[inline(always)]
    fn dtype(&self) -> DType {
        (**self).dtype()
    }

    #[inline(always)]
    fn shape(&self) -> &[i64] {
        (**self).shape()
    }

    #[inline(always)]
    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        (**self).layout()
    }

    #[inline(always)]
    fn size(&self, rank: usize, i: usize) -> i64 {
        (**self).size(rank, i)
    }
}

impl Leaf for Aval {
    fn kind(&self) -> LeafKind<'_> {
        LeafKind::Abstract(self)
    }

    fn tag(&self) -> u32 {
        tag(Aval::dtype(self), self.rank())
    }

    fn dtype(&self) -> DType {
        Aval::dtype(self)
    }

    fn shape(&self) -> &[i64] {
        Aval::shape(self)
    }

    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        Aval::layout(self).map(|(strides, offset)| (strides.to_vec(), offset))
    }
}

impl Leaf for HostView<'_> {
    fn kind(&self) -> LeafKind<'_> {
        LeafKind::Host
    }

    fn tag(&self) -> u32 {
        tag(HostView::dtype(self), HostView::shape(self).len())
    }

    fn dtype(&self) -> DType {
        HostView::dtype(self)
    }

    fn shape(&self) -> &[i64] {
        HostView::shape(self)
    }

    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        HostView::layout(self).map(|(strides, offset)| (strides.into_vec(), offset))
    }
}
