//! Abstract values: what a program is compiled for.

use std::fmt;

use crate::DType;

/// Dtype and shape of an array, without its data.
///
/// A rank-0 shape is a scalar. Prints as the StableHLO type.
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
}

impl Aval {
    /// An abstract value of this dtype and shape.
    ///
    /// # Panics
    ///
    /// On a negative size.
    #[track_caller]
    pub fn new(dtype: DType, shape: impl AsRef<[i64]>) -> Aval {
        let shape = shape.as_ref();
        assert!(shape.iter().all(|&n| n >= 0), "an aval has no negative size, got {shape:?}");
        Aval { dtype, shape: shape.into() }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dimensions, outermost first; empty for a scalar.
    pub fn shape(&self) -> &[i64] {
        &self.shape
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
        write!(f, "{}>", self.dtype.mlir())
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

/// `f32[2,3]`: the short form of dtype and shape that messages use.
pub(crate) fn short(dtype: DType, shape: &[i64]) -> String {
    format!("{}{}", dtype, shape_text(shape))
}

/// `[2,3]`.
pub(crate) fn shape_text(shape: &[i64]) -> String {
    let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", sizes.join(","))
}
