//! Arithmetic on random bits.

use super::super::super::value::Value;
use crate::DType;

/// The low 32 bits of a `u64`.
const LOW: u64 = 0xFFFF_FFFF;

/// The unsigned dtype of the same width.
pub(super) fn unsigned(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    }
}

/// `random * span / 2^64`, rounded down, for a span of at most 2^32.
///
/// Each result comes up for as many of the random numbers as another one, or for one more: all are as probable, up to
/// one part in 2^32.
#[track_caller]
pub(super) fn scaled_32(random: &Value, span: &Value) -> Value {
    let (high, low) = (random.shr_logical(32), random & LOW);
    (high * span + (low * span).shr_logical(32)).shr_logical(32)
}

/// `(2^64 * high + low) * span / 2^128`, rounded down: all results are as probable, up to one part in 2^64.
#[track_caller]
pub(super) fn scaled_64(high: &Value, low: &Value, span: &Value) -> Value {
    let sum = high * span + high_product(low, span);
    let carry = sum.lt(high * span).convert(DType::U64);
    high_product(high, span) + carry
}

/// The upper 64 bits of a product of two `u64`.
#[track_caller]
fn high_product(a: &Value, b: &Value) -> Value {
    let (a1, a0) = (a.shr_logical(32), a & LOW);
    let (b1, b0) = (b.shr_logical(32), b & LOW);
    let middle = &a1 * &b0 + (&a0 * &b0).shr_logical(32);
    let other = &a0 * &b1 + (&middle & LOW);
    &a1 * &b1 + middle.shr_logical(32) + other.shr_logical(32)
}

/// The greatest float that is less.
#[track_caller]
pub(super) fn below(x: &Value) -> Value {
    let bits = x.bitcast_convert(unsigned(x.dtype()));
    let width = 8 * x.dtype().size();
    // Below both zeros comes the negative number that is nearest to them.
    let negative = Value::full(bits.dtype(), [], (1u64 << (width - 1)) | 1);
    let below = x.gt(0.0).select(&bits - 1, x.lt(0.0).select(&bits + 1, negative));
    below.bitcast_convert(x.dtype())
}
