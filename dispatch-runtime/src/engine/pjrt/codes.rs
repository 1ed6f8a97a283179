//! The numbers of the C API's enumerations.

use std::ffi::c_int;

use crate::DType;

/// `PJRT_Error_Code_UNKNOWN`.
pub const UNKNOWN: c_int = 2;

/// The name of a `PJRT_Error_Code`.
pub fn status(code: c_int) -> &'static str {
    match code {
        0 => "OK",
        1 => "CANCELLED",
        3 => "INVALID_ARGUMENT",
        4 => "DEADLINE_EXCEEDED",
        5 => "NOT_FOUND",
        6 => "ALREADY_EXISTS",
        7 => "PERMISSION_DENIED",
        8 => "RESOURCE_EXHAUSTED",
        9 => "FAILED_PRECONDITION",
        10 => "ABORTED",
        11 => "OUT_OF_RANGE",
        12 => "UNIMPLEMENTED",
        13 => "INTERNAL",
        14 => "UNAVAILABLE",
        15 => "DATA_LOSS",
        16 => "UNAUTHENTICATED",
        _ => "UNKNOWN",
    }
}

/// The `PJRT_Buffer_Type` of a dtype.
pub const fn buffer_type(dtype: DType) -> c_int {
    use DType::*;
    match dtype {
        Bool => 1,
        I8 => 2,
        I16 => 3,
        I32 => 4,
        I64 => 5,
        U8 => 6,
        U16 => 7,
        U32 => 8,
        U64 => 9,
        F16 => 10,
        F32 => 11,
        F64 => 12,
        BF16 => 13,
        C64 => 14,
        C128 => 15,
    }
}

/// The dtype of a `PJRT_Buffer_Type`, if the runtime has it.
pub fn dtype(buffer_type: c_int) -> Option<DType> {
    DType::ALL.iter().copied().find(|&d| self::buffer_type(d) == buffer_type)
}
