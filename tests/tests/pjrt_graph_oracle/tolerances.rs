//! How exact each operation has to be. What is not named here is exact to the bit.

use dispatch_runtime::prelude::*;

use crate::compare::Tolerance::{self, *};

/// The tolerance of an operation at the dtype of its first result.
pub fn of(operation: &str, dtype: DType) -> Tolerance {
    if dtype.is_complex() {
        return complex(operation, dtype);
    }
    if !dtype.is_float() {
        return Exact;
    }
    let within = |ulps| Ulps { ulps, signed: true };
    match operation {
        // Rounded once, as IEEE 754 says.
        "add" | "sub" | "mul" | "div" | "rem" | "sqrt" | "square" | "recip" | "convert" | "sign" => within(0),
        // Which zero is the greater one differs between devices.
        "maximum" | "minimum" | "clamp" => Ulps { ulps: 0, signed: false },
        // Polynomials of XLA.
        "exp" | "log" | "log1p" | "sin" | "cos" | "logistic" | "rsqrt" | "abs" => within(2),
        "expm1" | "tanh" | "tan" | "pow" | "atan2" => within(4),
        // A power of a third, which loses bits of large numbers.
        "cbrt" => within(match dtype {
            DType::F64 => 128,
            DType::F32 => 16,
            _ => 1,
        }),
        _ => Exact,
    }
}

/// The parts of a complex result may cancel, so each result as a whole is near the expected one.
fn complex(operation: &str, dtype: DType) -> Tolerance {
    let epsilon = if dtype == DType::C64 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    match operation {
        "add" | "sub" | "mul" | "div" | "recip" | "square" | "sign" | "sqrt" | "rsqrt" | "exp" | "expm1"
        | "log" | "log1p" | "logistic" | "tanh" | "sin" | "cos" | "tan" => Relative(4.0 * epsilon),
        "pow" => Relative(64.0 * epsilon),
        _ => Exact,
    }
}
