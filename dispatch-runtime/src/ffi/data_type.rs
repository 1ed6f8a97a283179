//! The element types that XLA knows, which are more than those of the signature language.

use std::ffi::c_int;
use std::fmt;

use super::abi::data_type as code;
use crate::DType;

/// The element type of a buffer or an attribute as XLA numbers it.
///
/// Those of the signature language have a [`DType`]; others, such as `f8e4m3fn` or `i4`, a name only.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType(pub(crate) c_int);

impl DataType {
    /// The type of a [`Token`](super::Token), which is no data.
    pub const TOKEN: DataType = DataType(code::TOKEN);

    /// That of a dtype.
    #[inline(always)]
    pub const fn of(dtype: DType) -> DataType {
        use DType::*;
        DataType(match dtype {
            Bool => code::PRED,
            I8 => code::S8,
            I16 => code::S16,
            I32 => code::S32,
            I64 => code::S64,
            U8 => code::U8,
            U16 => code::U16,
            U32 => code::U32,
            U64 => code::U64,
            F16 => code::F16,
            BF16 => code::BF16,
            F32 => code::F32,
            F64 => code::F64,
            C64 => code::C64,
            C128 => code::C128,
        })
    }

    /// The dtype, if the signature language has one for it.
    #[inline(always)]
    pub const fn dtype(self) -> Option<DType> {
        use DType::*;
        Some(match self.0 {
            code::PRED => Bool,
            code::S8 => I8,
            code::S16 => I16,
            code::S32 => I32,
            code::S64 => I64,
            code::U8 => U8,
            code::U16 => U16,
            code::U32 => U32,
            code::U64 => U64,
            code::F16 => F16,
            code::BF16 => BF16,
            code::F32 => F32,
            code::F64 => F64,
            code::C64 => C64,
            code::C128 => C128,
            _ => return None,
        })
    }

    /// The bits that one element takes in a buffer; 0 for a token, which is no data. None for a number that has no
    /// meaning here.
    ///
    /// A bool takes 8. Elements of fewer than 8 bits (`i4`, `u2`, `f4e2m1fn`) stand packed: several in a byte, see
    /// [`DataType::bytes`].
    #[inline(always)]
    pub const fn bits(self) -> Option<usize> {
        match self.dtype() {
            Some(dtype) => Some(8 * dtype.size()),
            None => self.foreign_bits(),
        }
    }

    /// [`DataType::bits`] of what the signature language does not know.
    const fn foreign_bits(self) -> Option<usize> {
        use code::*;
        Some(match self.0 {
            TOKEN => 0,
            S1 | U1 => 1,
            S2 | U2 => 2,
            S4 | U4 | F4E2M1FN => 4,
            F8E5M2 | F8E4M3FN | F8E4M3B11FNUZ | F8E5M2FNUZ | F8E4M3FNUZ | F8E4M3 | F8E3M4 | F8E8M0FNU => 8,
            _ => return None,
        })
    }

    /// The bytes that a buffer of so many elements takes; the last one of packed elements may hold fewer of them than the
    /// others. None for a number that has no meaning here, and for more bytes than there can be.
    ///
    /// ```
    /// use dispatch_runtime::{DType, ffi::DataType};
    ///
    /// assert_eq!(DataType::of(DType::F32).bytes(7), Some(28));
    /// assert_eq!(DataType::TOKEN.bytes(1), Some(0));
    /// ```
    #[inline(always)]
    pub const fn bytes(self, len: usize) -> Option<usize> {
        match self.bits() {
            Some(bits @ (1 | 2 | 4)) => Some(len.div_ceil(8 / bits)),
            Some(bits) => len.checked_mul(bits / 8),
            None => None,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match code::name(self.0) {
            Some(name) => f.pad(name),
            None => write!(f, "an unknown type ({})", self.0),
        }
    }
}

impl fmt::Debug for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
