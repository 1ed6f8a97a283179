//! R's vectors in a compact form, as `1:1e8` is, which stay so.

use std::sync::Arc;

use dispatch_runtime::{Array, DType, Device, HostView};

use super::{Check, allowed, check, place};
use crate::data::Data;
use crate::fault::Result;
use crate::ffi::*;
use crate::unwind::protect;
use crate::view::Memory;

/// How many elements there have to be: fewer are made at once by R.
const MANY: usize = 1 << 16;

/// How many are made at a time.
const PIECE: usize = 1 << 14;

/// Uploads a vector whose elements R has not made, piece by piece into the device's memory. None if it is no such vector,
/// or a value would be lost, which who goes through all of them tells.
///
/// `shape` has as many elements as the vector. `dtype` is the usual one unless it is given.
pub(crate) fn compact(
    x: SEXP,
    dtype: Option<DType>,
    shape: &[i64],
    device: Device,
    checks: Check,
) -> Result<Option<Array>> {
    let kind = TYPEOF(x);
    if ALTREP(x) == 0 || !matches!(kind, LGLSXP | INTSXP | REALSXP) || Rf_isObject(x) != 0 {
        return Ok(None);
    }
    let length = Rf_xlength(x) as usize;
    // SAFETY: `x` is a vector; the pointer is only compared.
    if length < MANY || !protect(|| unsafe { DATAPTR_OR_NULL(x) })?.is_null() {
        return Ok(None);
    }
    let usual = match kind {
        LGLSXP => DType::Bool,
        INTSXP => DType::I32,
        _ => DType::F32,
    };
    let dtype = dtype.unwrap_or(usual);
    let memory = Arc::new(Memory::new(dtype, shape)?);
    let (mut integers, mut doubles) = (Vec::new(), Vec::new());
    match kind {
        REALSXP => doubles.resize(PIECE, 0f64),
        _ => integers.resize(PIECE, 0i32),
    }
    let (integers_at, doubles_at) = (integers.as_mut_ptr(), doubles.as_mut_ptr());
    let mut done = 0;
    while done < length {
        let (from, n) = (done as Length, PIECE.min(length - done) as Length);
        // SAFETY: there is room for a piece.
        let got = protect(|| unsafe {
            match kind {
                LGLSXP => LOGICAL_GET_REGION(x, from, n, integers_at),
                INTSXP => INTEGER_GET_REGION(x, from, n, integers_at),
                _ => REAL_GET_REGION(x, from, n, doubles_at),
            }
        })? as usize;
        if got == 0 || got > n as usize {
            return Ok(None);
        }
        let data = match kind {
            LGLSXP => Data::Logical(&integers[..got]),
            INTSXP => Data::Integer(&integers[..got]),
            _ => Data::Double(&doubles[..got]),
        };
        let is_refused =
            checks != Check::Nothing && check::all(data, dtype, checks == Check::Lost, "").is_err();
        if is_refused || !allowed(&data, dtype) {
            return Ok(None);
        }
        // SAFETY: the memory is for the shape, and nobody else has it.
        unsafe { place(data, dtype, memory.data(), shape, done) };
        done += got;
    }
    // SAFETY: all elements were written; from here on nobody writes to them.
    let (array, _) = unsafe {
        let view = HostView::from_raw(dtype, shape, memory.data());
        device.client().adopt(view, Box::new(memory.clone()), device)?
    };
    Ok(Some(array))
}
