//! Mathematical functions of each element that StableHLO itself lacks: those of CHLO.

use super::super::make::op;
use super::super::operand::Arg;
use super::super::poison::build;
use super::super::value::{Types, Value};
use super::elementwise::Takes;

macro_rules! special {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $takes:expr;)*) => {
        impl Value {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&self) -> Value {
                    build(stringify!($name), &[Arg::Value(self)], || {
                        $takes.check(self.dtype())?;
                        let text = concat!("\"chlo.", $text, "\"($0)");
                        Ok(op(text, Types::Function, [self], self.aval().clone()))
                    })
                }
            )*
        }
    };
}

special! {
    /// The error function, `2/√π ∫₀ˣ exp(-t²) dt`.
    erf = "erf", Takes::FLOATS;
    /// 1 minus the error function, exact where that is near 1.
    erfc = "erfc", Takes::FLOATS;
    /// The inverse of the error function; NaN outside of -1 to 1.
    erf_inv = "erf_inv", Takes::FLOATS;
    /// The logarithm of the absolute value of the gamma function.
    lgamma = "lgamma", Takes::FLOATS;
    /// The derivative of [`Value::lgamma`]; NaN of 0 and of negative integers.
    digamma = "digamma", Takes::FLOATS;
    /// The hyperbolic sine.
    sinh = "sinh", Takes::ANALYTIC;
    /// The hyperbolic cosine.
    cosh = "cosh", Takes::ANALYTIC;
    /// The angle with this sine, in radians; NaN outside of -1 to 1.
    asin = "asin", Takes::ANALYTIC;
    /// The angle with this cosine, in radians; NaN outside of -1 to 1.
    acos = "acos", Takes::ANALYTIC;
    /// The angle with this tangent, in radians.
    atan = "atan", Takes::ANALYTIC;
    /// The inverse of [`Value::sinh`].
    asinh = "asinh", Takes::ANALYTIC;
    /// The inverse of [`Value::cosh`], not negative; NaN below 1.
    acosh = "acosh", Takes::ANALYTIC;
    /// The inverse of [`Value::tanh`]; NaN outside of -1 to 1.
    atanh = "atanh", Takes::ANALYTIC;
}
