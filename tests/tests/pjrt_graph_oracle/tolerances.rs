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
        "add" | "sub" | "mul" | "rem" | "sqrt" | "square" | "recip" | "convert" | "sign" => within(0),
        // A plugin multiplies by the reciprocal where many are divided by one.
        "div" => within(1),
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
        // Exact, or sums of few terms: see the data.
        "sum" | "prod" | "cumsum" | "cumprod" | "matmul" | "dot" | "dot_general" | "einsum" | "outer"
        | "scatter" | "scatter_with" | "put" | "put_along" | "reduce" | "max" | "min" | "cummax"
        | "cummin" => Ulps { ulps: 0, signed: false },
        "relu" | "elu" | "leaky_relu" => Ulps { ulps: 4, signed: false },
        "avg_pool" => within(1),
        "irfft" | "mean" | "var" | "std" | "logsumexp" | "softmax" | "log_softmax" | "cumlogsumexp"
        | "cholesky" | "inverse_spd" | "logdet_spd" | "solve_spd" | "triangular_solve" => {
            Scaled(16.0 * epsilon(dtype))
        }
        // Their series in f64 are no better.
        "lgamma" | "digamma" | "atanh" | "gelu" if dtype == DType::F64 => within(256),
        "erf" | "erfc" | "erf_inv" | "lgamma" | "digamma" | "sinh" | "cosh" | "asin" | "acos" | "atan"
        | "asinh" | "acosh" | "atanh" | "sigmoid" | "softplus" | "silu" | "gelu" | "logaddexp" => within(16),
        _ => Exact,
    }
}

fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// The parts of a complex result may cancel, so each result as a whole is near the expected one.
fn complex(operation: &str, dtype: DType) -> Tolerance {
    let epsilon = epsilon(dtype);
    match operation {
        "add" | "sub" | "mul" | "div" | "recip" | "square" | "sign" | "sqrt" | "rsqrt" | "exp" | "expm1"
        | "log" | "log1p" | "logistic" | "tanh" | "sin" | "cos" | "tan" => Relative(4.0 * epsilon),
        "pow" | "sinh" | "cosh" | "asin" | "acos" | "atan" | "asinh" | "acosh" | "atanh" => {
            Relative(64.0 * epsilon)
        }
        "sum" | "prod" | "cumsum" | "cumprod" | "matmul" | "dot" | "dot_general" | "einsum" | "outer"
        | "scatter" | "scatter_with" | "put" | "put_along" | "reduce" | "mean" | "cholesky"
        | "inverse_spd" | "solve_spd" | "triangular_solve" | "fft" | "ifft" | "rfft" | "conv"
        | "sum_pool" | "avg_pool" | "reduce_window" => Scaled(16.0 * epsilon),
        _ => Exact,
    }
}
