//! Which elements of DLPack are of which dtype.

use super::abi::DLDataType;
use super::wrong;
use crate::{DType, Result};

const CODES: [(DType, u8, u8); 15] = [
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::BF16, 4, 16),
    (DType::C64, 5, 64),
    (DType::C128, 5, 128),
    (DType::Bool, 6, 8),
];

pub(super) fn dtype_of(data: DLDataType) -> Result<DType> {
    let found = CODES.iter().find(|&&(_, code, bits)| (data.code, data.bits, data.lanes) == (code, bits, 1));
    let got = || format!("code {}, {} bits, {} lanes", data.code, data.bits, data.lanes);
    found.map(|&(dtype, ..)| dtype).ok_or_else(|| wrong("elements of a dtype", got()))
}

pub(super) fn code_of(dtype: DType) -> DLDataType {
    let &(_, code, bits) = CODES.iter().find(|(known, ..)| *known == dtype).expect("all are listed");
    DLDataType { code, bits, lanes: 1 }
}
