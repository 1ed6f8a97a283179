//! Values that would be lost.

use dispatch_runtime::host::{Converted, Element};
use dispatch_runtime::{DType, Error, HostView};

use super::Check;
use super::cast::Cast;
use crate::arg::number;
use crate::data::Data;
use crate::fault::{Fault, Result};
use crate::ffi::*;

impl Check {
    /// Refuses the first value that would be lost.
    pub(super) fn all(self, values: Data<'_>, dtype: DType, path: &str) -> Result<()> {
        self.piece(values, &Search { dtype, path, before: 0 })
    }

    /// [`Check::all`] of a part of the data.
    pub(super) fn piece(self, values: Data<'_>, search: &Search<'_>) -> Result<()> {
        match self {
            Check::Nothing => Ok(()),
            Check::Wrong => look_through(values, false, search),
            Check::Lost => look_through(values, true, search),
        }
    }
}

/// Refuses the first value that would be lost. If not `strict`, a missing value may become `NaN`, and a float type may
/// round integers.
fn look_through(values: Data<'_>, strict: bool, check: &Search<'_>) -> Result<()> {
    let dtype = check.dtype;
    let real = matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    let is_float = real || dtype.is_complex();
    // As `f64` and `c128` a missing value stays what it is.
    let holds_na = matches!(dtype, DType::F64 | DType::C128) || (is_float && !strict);
    match values {
        Data::Logical(x) => check.missing(x.iter().position(|&x| x == NA_INTEGER)),
        Data::Integer(x) => {
            if !holds_na {
                check.missing(x.iter().position(|&x| x == NA_INTEGER))?;
            }
            check.integers(x, |x| (x != NA_INTEGER).then_some(x.into()), strict)
        }
        Data::Integer64(x) => {
            if !holds_na {
                check.missing(x.iter().position(|&x| x == i64::MIN))?;
            }
            check.integers(x, |x| (x != i64::MIN).then_some(x), strict)
        }
        Data::Double(_) if matches!(dtype, DType::F64 | DType::C128) => Ok(()),
        Data::Double(x) => {
            if !holds_na {
                check.missing(x.iter().position(|&x| R_IsNA(x) != 0))?;
            }
            check.first(x, |x| !holds(x, dtype), number)
        }
        Data::Complex(_) if dtype == DType::C128 => Ok(()),
        Data::Complex(x) => {
            if strict {
                check.missing(x.iter().position(|x| x.iter().any(|&part| R_IsNA(part) != 0)))?;
            }
            // SAFETY: two doubles are a complex number of Rust.
            let x = unsafe {
                std::slice::from_raw_parts(x.as_ptr().cast::<num_complex::Complex<f64>>(), x.len())
            };
            let lost = |x: num_complex::Complex<f64>| !holds(x.re, DType::F32) || !holds(x.im, DType::F32);
            check.first(x, lost, |x| {
                let plus = if x.im < 0.0 { "" } else { "+" };
                format!("{}{plus}{}i", number(x.re), number(x.im))
            })
        }
        Data::Compact(x) => x.pieces(|before, piece| {
            look_through(piece, strict, &Search { before: check.before + before, ..*check })
        }),
    }
}

/// Whether a dtype has a number, or one that it rounds to.
#[inline]
fn holds(x: f64, dtype: DType) -> bool {
    macro_rules! integer {
        ($type:ty) => {
            // The ends are whole numbers of which one is a double, and the one beyond the other.
            x.trunc() == x && x >= <$type>::MIN as f64 && x < (<$type>::MAX / 2 + 1) as f64 * 2.0
        };
    }
    let not_infinite = |y: f64| y.is_finite() || !x.is_finite();
    match dtype {
        DType::Bool => x == 0.0 || x == 1.0,
        DType::I8 => integer!(i8),
        DType::I16 => integer!(i16),
        DType::I32 => integer!(i32),
        DType::I64 => integer!(i64),
        DType::U8 => integer!(u8),
        DType::U16 => integer!(u16),
        DType::U32 => integer!(u32),
        DType::U64 => integer!(u64),
        DType::F16 => not_infinite(Cast::<half::f16>::cast(x).into()),
        DType::BF16 => not_infinite(Cast::<half::bf16>::cast(x).into()),
        DType::F32 | DType::C64 => not_infinite((x as f32).into()),
        DType::F64 | DType::C128 => true,
    }
}

/// What an integer becomes in a float type.
#[inline]
fn as_float(x: i64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => Cast::<half::f16>::cast(x).into(),
        DType::BF16 => Cast::<half::bf16>::cast(x).into(),
        DType::F32 | DType::C64 => (x as f32).into(),
        _ => x as f64,
    }
}

/// What values are looked through for.
pub(super) struct Search<'a> {
    pub dtype: DType,
    /// For messages.
    pub path: &'a str,
    /// The number of elements before the first of the values.
    pub before: usize,
}

impl Search<'_> {
    fn missing(&self, at: Option<usize>) -> Result<()> {
        match at {
            None => Ok(()),
            Some(i) => Err(self.refused(
                format!("no missing values, which {} does not hold", self.dtype),
                format!("NA as element {}", self.before + i + 1),
            )),
        }
    }

    /// Integers, of which `known` gives those that are not missing.
    fn integers<T: Element + Into<i64>>(
        &self,
        values: &[T],
        known: impl Fn(T) -> Option<i64>,
        strict: bool,
    ) -> Result<()> {
        let dtype = self.dtype;
        let text = |x: T| x.into().to_string();
        macro_rules! in_range {
            ($type:ty) => {
                self.first(values, |x| known(x).is_some_and(|x| <$type>::try_from(x).is_err()), text)
            };
        }
        match dtype {
            DType::I8 => return in_range!(i8),
            DType::I16 => return in_range!(i16),
            DType::I32 => return in_range!(i32),
            DType::U8 => return in_range!(u8),
            DType::U16 => return in_range!(u16),
            DType::U32 => return in_range!(u32),
            DType::U64 => return in_range!(u64),
            DType::Bool | DType::I64 => return Ok(()),
            _ => self.first(values, |x| known(x).is_some_and(|x| as_float(x, dtype).is_infinite()), text)?,
        }
        let rounded = |x: i64| as_float(x, dtype) as i128 != x.into();
        match values.iter().position(|&x| strict && known(x).is_some_and(rounded)) {
            None => Ok(()),
            Some(i) => Err(self.refused(
                format!("integers that {dtype} holds without rounding"),
                format!("{} as element {}", text(values[i]), self.before + i + 1),
            )),
        }
    }

    /// The error of the first value that is lost.
    fn first<T: Element>(
        &self,
        values: &[T],
        lost: impl Fn(T) -> bool,
        text: impl Fn(T) -> String,
    ) -> Result<()> {
        let Some(i) = values.iter().position(|&x| lost(x)) else { return Ok(()) };
        // Says in words what the dtype holds.
        let expected = match Converted::new(HostView::scalar(&values[i]), self.dtype, &String::new) {
            Err(Error::Value { expected, .. }) => expected,
            _ => format!("a value that {} holds", self.dtype),
        };
        Err(self.refused(expected, format!("{} as element {}", text(values[i]), self.before + i + 1)))
    }

    #[cold]
    fn refused(&self, expected: impl std::fmt::Display, got: String) -> Fault {
        Fault::argument("value", self.path, expected, got)
    }
}
