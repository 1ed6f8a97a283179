//! Comparisons and choices, element by element.

use super::super::make::op;
use super::super::operand::{Arg, Operand};
use super::super::poison::build;
use super::super::value::{Types, Value};
use super::broadcast::common_shape;
use super::elementwise::{Takes, pair, same_dtype};
use crate::{Aval, DType};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident = $direction:literal;)*) => {
        impl Value {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&self, other: impl Operand) -> Value {
                    let other = other.operand();
                    compare(stringify!($name), $direction, Arg::Value(self), other)
                }
            )*
        }
    };
}

comparisons! {
    /// Whether the two are equal; `false` where one is NaN.
    eq = "EQ";
    /// Whether the two differ; `true` where one is NaN.
    ne = "NE";
    /// Whether `self` is less.
    lt = "LT";
    /// Whether `self` is less or equal.
    le = "LE";
    /// Whether `self` is greater.
    gt = "GT";
    /// Whether `self` is greater or equal.
    ge = "GE";
}

#[track_caller]
fn compare(name: &'static str, direction: &str, a: Arg<'_>, b: Arg<'_>) -> Value {
    build(name, &[a, b], || {
        let (a, b) = pair(a, b)?;
        let dtype = a.dtype();
        if dtype.is_complex() && !matches!(direction, "EQ" | "NE") {
            return Err("complex numbers have no order; compare parts or `abs()`".into());
        }
        let kind = match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => "SIGNED",
            DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => "UNSIGNED",
            _ => "FLOAT",
        };
        let result = Aval::new(DType::Bool, a.shape());
        Ok(op(format!("stablehlo.compare {direction}, $0, $1, {kind}"), Types::Function, [&a, &b], result))
    })
}

impl Value {
    /// Takes each element from `yes` where `self` is true, else from `no`. All three are broadcast.
    ///
    /// # Errors
    ///
    /// `self` is not `bool`, `yes` and `no` differ in dtype or are both Rust numbers, or shapes do not broadcast.
    #[track_caller]
    pub fn select(&self, yes: impl Operand, no: impl Operand) -> Value {
        let (yes, no) = (yes.operand(), no.operand());
        build("select", &[Arg::Value(self), yes, no], || {
            if self.dtype() != DType::Bool {
                return Err(format!("the choice has to be bool, not {}", self.dtype()));
            }
            if yes.value().is_none() && no.value().is_none() {
                return Err("two numbers have no dtype; make one of them a value with `Value::scalar`".into());
            }
            let (yes, no) = pair(yes, no)?;
            let shape = common_shape(self.shape(), yes.shape())?;
            let operands = [self, &yes, &no].map(|value| value.broadcast_to_shape(&shape));
            let [choice, yes, no] = operands;
            let (choice, yes, no) = (choice?, yes?, no?);
            let result = yes.aval().clone();
            Ok(op("stablehlo.select $0, $1, $2", Types::Function, [&choice, &yes, &no], result))
        })
    }

    /// The number, or the bound that it is beyond: `minimum(maximum(self, low), high)`.
    ///
    /// # Errors
    ///
    /// A bound has another dtype, or does not broadcast to the shape of `self`.
    #[track_caller]
    pub fn clamp(&self, low: impl Operand, high: impl Operand) -> Value {
        let (low, high) = (low.operand(), high.operand());
        build("clamp", &[Arg::Value(self), low, high], || {
            Takes::ORDERED.check(self.dtype())?;
            let bound = |arg: Arg<'_>| {
                let bound = arg.at(self.dtype(), self.shape())?;
                same_dtype(self, &bound)?;
                bound.broadcast_to_shape(self.shape())
            };
            let (low, high) = (bound(low)?, bound(high)?);
            Ok(op("stablehlo.clamp $0, $1, $2", Types::Same, [&low, self, &high], self.aval().clone()))
        })
    }
}
