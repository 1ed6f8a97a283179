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

    /// The bytes that one element takes in a buffer: 1 for the types of less than 8 bits too, 0 for a token. None for a
    /// number that has no meaning.
    #[inline(always)]
    pub const fn size(self) -> Option<usize> {
        match (self.dtype(), self.0) {
            (Some(dtype), _) => Some(dtype.size()),
            (None, code::TOKEN) => Some(0),
            (None, code::INVALID) => None,
            (None, code) if code::name(code).is_some() => Some(1),
            (None, _) => None,
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
