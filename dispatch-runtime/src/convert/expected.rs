//! What an argument has to be, as far as that is known before it is converted.

use super::CopyPolicy;
use crate::aval::shape_text;
use crate::{DType, Error, Result};

/// What a converter is asked for: what the argument has to be, where the signature or the other arguments say.
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::convert::Expected;
///
/// let expected = Expected::new("x").dtypes(&[DType::F32, DType::F64]).shape(&[None, Some(3)]);
/// assert_eq!(expected.to_string(), "f32 or f64 of shape [_,3]");
/// assert_eq!(Expected::new("x").to_string(), "an array");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The dtypes that the argument may have; empty if that is not known.
    pub dtypes: &'a [DType],
    /// The sizes, None where any will do. None as a whole: any shape of any rank.
    pub shape: Option<&'a [Option<i64>]>,
    /// The strides, in elements, and how many elements lie before the one whose indices are all 0: those of the slot of a
    /// skeleton that names them. Data that lies in another way is put in order on the way to the device, as everywhere; None if
    /// nobody asks for any.
    pub layout: Option<(&'a [i64], usize)>,
    /// The path of the argument, `b` or `params$w`.
    pub path: &'a str,
    /// Whether the data may be copied on the way to the device.
    pub copy: CopyPolicy,
}

impl<'a> Expected<'a> {
    /// Nothing is known of the argument but its path.
    pub fn new(path: &'a str) -> Expected<'a> {
        Expected { dtypes: &[], shape: None, layout: None, path, copy: CopyPolicy::IfNeeded }
    }

    /// The argument has one of these dtypes.
    pub fn dtypes(self, dtypes: &'a [DType]) -> Expected<'a> {
        Expected { dtypes, ..self }
    }

    /// The argument has these sizes, None where any will do.
    pub fn shape(self, shape: &'a [Option<i64>]) -> Expected<'a> {
        Expected { shape: Some(shape), ..self }
    }

    /// The data is best laid out with these strides, in elements, from this element on.
    pub fn layout(self, strides: &'a [i64], offset: usize) -> Expected<'a> {
        Expected { layout: Some((strides, offset)), ..self }
    }

    /// The data may be copied as the policy says.
    pub fn copy(self, copy: CopyPolicy) -> Expected<'a> {
        Expected { copy, ..self }
    }

    /// The dtype, if there is only one.
    pub fn dtype(&self) -> Option<DType> {
        match self.dtypes {
            [dtype] => Some(*dtype),
            _ => None,
        }
    }

    /// Whether a dtype is one of those expected.
    pub fn allows(&self, dtype: DType) -> bool {
        self.dtypes.is_empty() || self.dtypes.contains(&dtype)
    }

    /// An error about this argument, in a converter's words: what it gives as the reason, "the file is closed", becomes
    /// "argument `x`: the converter `files` failed: the file is closed".
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::Converter { argument: self.path.into(), reason: reason.into() }
    }

    /// An error unless the dtype is one of those expected, for what the converter of this name gave.
    pub(super) fn check_dtype(&self, dtype: DType, converter: &str) -> Result<()> {
        if self.allows(dtype) {
            return Ok(());
        }
        let expected = crate::signature::DTypeSpec::text_of(self.dtypes);
        Err(self.error(format!("the converter `{converter}` gave dtype {dtype}, expected {expected}")))
    }

    /// An error unless the shape is as expected.
    pub(super) fn check_shape(&self, shape: &[i64], converter: &str) -> Result<()> {
        let Some(expected) = self.shape else { return Ok(()) };
        let fits = shape.len() == expected.len()
            && shape.iter().zip(expected).all(|(&n, expected)| expected.is_none_or(|expected| expected == n));
        if fits {
            return Ok(());
        }
        let (got, expected) = (shape_text(shape), pattern(expected));
        Err(self.error(format!("the converter `{converter}` gave shape {got}, expected {expected}")))
    }
}

/// `[_,3]`
fn pattern(shape: &[Option<i64>]) -> String {
    let sizes: Vec<String> =
        shape.iter().map(|size| size.map_or_else(|| "_".to_owned(), |size| size.to_string())).collect();
    format!("[{}]", sizes.join(","))
}

impl std::fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.dtypes {
            [] => f.write_str("an array")?,
            dtypes => f.write_str(&crate::signature::DTypeSpec::text_of(dtypes))?,
        }
        match self.shape {
            Some(shape) => write!(f, " of shape {}", pattern(shape)),
            None => Ok(()),
        }
    }
}
