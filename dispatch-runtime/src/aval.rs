//! Abstract values: what a program is compiled for.

use std::fmt;

use crate::host::layout::{self, Strides};
use crate::{DType, Error, Result};

/// Dtype and shape of an array, without its data.
///
/// A rank-0 shape is a scalar. Prints as the StableHLO type.
///
/// Arrays on devices, and what programs take and give, are dense: row-major, from the first element on. What stands for a
/// [`HostView`](crate::HostView) may have strides and an offset as well, see [`Aval::strided`].
///
/// ```
/// use dispatch_runtime::{Aval, DType};
///
/// let a = Aval::new(DType::F32, [2, 2]);
/// assert_eq!(a.to_string(), "tensor<2x2xf32>");
/// assert_eq!(Aval::new(DType::Bool, []).to_string(), "tensor<i1>");
/// assert_eq!((a.rank(), a.len(), a.size_bytes()), (2, 4, 16));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Aval {
    dtype: DType,
    shape: Box<[i64]>,
    /// None if it is dense; else in the one form that a layout has.
    layout: Option<Box<Layout>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Layout {
    strides: Box<[i64]>,
    offset: usize,
}

impl Aval {
    /// An abstract value of this dtype and shape.
    ///
    /// # Panics
    ///
    /// Where [`Aval::try_new`] gives none.
    #[track_caller]
    pub fn new(dtype: DType, shape: impl AsRef<[i64]>) -> Aval {
        let shape = shape.as_ref();
        let aval = Aval::try_new(dtype, shape);
        aval.unwrap_or_else(|| panic!("no array of {dtype} has the shape {}", shape_text(shape)))
    }

    /// An abstract value of this dtype and shape, if an array can have it: no size is negative, there are at most
    /// 65 535 dimensions, and the bytes are at most `isize::MAX`, also if the sizes of 0 were 1, for strides are
    /// reckoned so.
    ///
    /// ```
    /// use dispatch_runtime::{Aval, DType};
    ///
    /// assert!(Aval::try_new(DType::F32, [i64::MAX]).is_none());
    /// assert!(Aval::try_new(DType::F32, [0, 1 << 62]).is_none());
    /// ```
    pub fn try_new(dtype: DType, shape: impl AsRef<[i64]>) -> Option<Aval> {
        let shape = shape.as_ref();
        is_array_shape(dtype, shape).then(|| Aval { dtype, shape: shape.into(), layout: None })
    }

    /// An abstract value of host data whose elements lie `strides` apart along each dimension, the first of them at `offset`,
    /// both counted in elements.
    ///
    /// A layout has one form: strides and an offset that say row-major from the first element on are the same as none, and
    /// along a dimension of size 1 any stride is the same as another.
    ///
    /// ```
    /// use dispatch_runtime::{Aval, DType};
    ///
    /// let columns = Aval::strided(DType::F32, [2, 3], [1, 2], 0)?;
    /// assert_eq!((columns.strides(), columns.offset()), (Some(&[1, 2][..]), 0));
    /// assert_eq!(columns.to_string(), "tensor<2x3xf32, strided<[1, 2]>>");
    /// assert_ne!(columns, Aval::new(DType::F32, [2, 3]));
    /// assert_eq!(Aval::strided(DType::F32, [2, 3], [3, 1], 0)?, Aval::new(DType::F32, [2, 3]));
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No array has the shape; there is not one stride for each dimension; an element would lie before the first one of any
    /// data, or behind the last one that any data can have.
    pub fn strided(
        dtype: DType,
        shape: impl AsRef<[i64]>,
        strides: impl AsRef<[i64]>,
        offset: usize,
    ) -> Result<Aval> {
        let (shape, strides) = (shape.as_ref(), strides.as_ref());
        if !is_array_shape(dtype, shape) {
            return Err(Error::Shape {
                argument: "shape".into(),
                expected: "that an array can have".into(),
                got: shape_text(shape),
            });
        }
        layout::check(dtype, shape, strides, offset, None).map_err(crate::host::wrong_strides)?;
        Ok(Aval::with_layout(dtype, shape, layout::canonical(shape, strides, offset)))
    }

    /// An abstract value of a shape that an array can have, with a layout in its one form.
    pub(crate) fn with_layout(dtype: DType, shape: &[i64], layout: Option<(Strides, usize)>) -> Aval {
        let boxed =
            |(strides, offset): (Strides, usize)| Layout { strides: strides.into_boxed_slice(), offset };
        Aval { dtype, shape: shape.into(), layout: layout.map(boxed).map(Box::new) }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dimensions, outermost first; empty for a scalar.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Whether it is row-major, from the first element on: all but host data with strides or an offset.
    pub fn is_dense(&self) -> bool {
        self.layout.is_none()
    }

    /// The distance of neighbours along each dimension, in elements; none if it is dense.
    pub fn strides(&self) -> Option<&[i64]> {
        self.layout.as_deref().map(|layout| &*layout.strides)
    }

    /// How many elements of the data lie before the one whose indices are all 0.
    pub fn offset(&self) -> usize {
        self.layout.as_deref().map_or(0, |layout| layout.offset)
    }

    /// The same dtype and shape, dense.
    pub fn dense(&self) -> Aval {
        Aval { dtype: self.dtype, shape: self.shape.clone(), layout: None }
    }

    /// Strides and offset; none if it is dense.
    pub(crate) fn layout(&self) -> Option<(&[i64], usize)> {
        self.layout.as_deref().map(|layout| (&*layout.strides, layout.offset))
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty)] // a scalar has length 1: "empty" would be asked of the wrong thing
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }

    /// The bytes of a dense array of this dtype and shape.
    pub fn size_bytes(&self) -> usize {
        self.len() * self.dtype.size()
    }
}

impl fmt::Display for Aval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for n in &self.shape {
            write!(f, "{n}x")?;
        }
        f.write_str(self.dtype.mlir())?;
        // As MLIR writes it of buffers; a tensor has no such thing, and no program may have one that does.
        if let Some((strides, offset)) = self.layout() {
            let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
            write!(f, ", strided<[{}]", strides.join(", "))?;
            if offset != 0 {
                write!(f, ", offset: {offset}")?;
            }
            f.write_str(">")?;
        }
        f.write_str(">")
    }
}

impl fmt::Debug for Aval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<&Aval> for Aval {
    fn from(aval: &Aval) -> Aval {
        aval.clone()
    }
}

/// The most dimensions that an array has; a handle holds their number in 16 bits.
const MAX_RANK: usize = u16::MAX as usize;

/// Whether an array can have this shape; see [`Aval::try_new`]. Whatever makes an array or an abstract value from sizes
/// of the outside asks here, so that the products of sizes inside need no care.
pub(crate) fn is_array_shape(dtype: DType, shape: &[i64]) -> bool {
    // An empty array of the host may become one of any dtype.
    let item = if shape.contains(&0) { DType::C128.size() } else { dtype.size() };
    let bytes = shape.iter().try_fold(item, |bytes, &n| bytes.checked_mul(usize::try_from(n).ok()?.max(1)));
    shape.len() <= MAX_RANK && bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
}

/// `f32[2,3]`: the short form of dtype and shape that messages use.
pub(crate) fn short(dtype: DType, shape: &[i64]) -> String {
    format!("{}{}", dtype, shape_text(shape))
}

/// `f32[2,3]`, `f32[2,3] with strides [1,2]`: an abstract value in the short form.
pub(crate) fn brief(aval: &Aval) -> String {
    let mut text = short(aval.dtype(), aval.shape());
    if let Some(layout) = aval.layout() {
        text += &format!(" with {}", layout::text(Some(layout)));
    }
    text
}

/// `(f32[2,3], i64[])`: arguments or results in the short form.
pub(crate) fn list(avals: &[Aval]) -> String {
    let avals: Vec<String> = avals.iter().map(brief).collect();
    format!("({})", avals.join(", "))
}

/// `[2,3]`.
pub(crate) fn shape_text(shape: &[i64]) -> String {
    // What is taken for a shape by mistake may have millions of sizes: then only the first are told.
    const MOST: usize = 32;
    let shown = if shape.len() > MOST { &shape[..MOST / 4] } else { shape };
    let mut sizes: Vec<String> = shown.iter().map(i64::to_string).collect();
    if shown.len() < shape.len() {
        sizes.push(format!("... {} in all", shape.len()));
    }
    format!("[{}]", sizes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_shape_with_very_many_sizes_only_the_first_are_told() {
        assert_eq!(shape_text(&[]), "[]");
        assert_eq!(shape_text(&[1; 32]).len(), 65);
        assert_eq!(shape_text(&[1; 1_000_000]), "[1,1,1,1,1,1,1,1,... 1000000 in all]");
    }

    #[test]
    fn no_array_has_a_shape_whose_bytes_overflow() {
        for shape in
            [&[i64::MAX][..], &[1 << 61], &[(1 << 61) + 1], &[1 << 32, 1 << 32], &[i64::MAX, i64::MAX, 0]]
        {
            assert_eq!(Aval::try_new(DType::F64, shape), None, "{shape:?}");
        }
        assert_eq!(Aval::try_new(DType::F64, [-1]), None);
        assert_eq!(Aval::try_new(DType::F64, vec![1; 1 << 16]), None);
        assert_eq!(Aval::try_new(DType::I8, [i64::MAX]).unwrap().len(), i64::MAX as usize);
        assert_eq!(Aval::new(DType::F64, vec![1; 300]).size_bytes(), 8);
        assert_eq!(Aval::new(DType::F64, [0, 1 << 40]).len(), 0);
    }

    #[test]
    #[should_panic(expected = "no array of f64 has the shape [2305843009213693953]")]
    fn an_impossible_shape_is_a_panic_in_every_profile() {
        crate::HostArray::zeros(DType::F64, [(1 << 61) + 1]);
    }
}
