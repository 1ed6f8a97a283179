//! From a case to the expression that it is about.

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;
use dispatch_tests::with_element;

use crate::data::Case;

/// The value, or values, that a case asks for. `arrays` are the operands as data, for what takes data.
pub fn build(case: &Case, values: &[Value], arrays: &[&HostArray]) -> Vec<Value> {
    let value = |i: usize| &values[i];
    let elementwise = elementwise(case.operation, values);
    if let Some(value) = elementwise {
        return vec![value];
    }
    vec![match case.operation {
        "select" => value(0).select(value(1), value(2)),
        "clamp" => value(0).clamp(value(1), value(2)),
        "convert" => value(0).convert(case.dtype()),
        "bitcast_convert" => value(0).bitcast_convert(case.dtype()),
        "zeros" => Value::zeros(case.dtype(), case.ints("shape")),
        "ones" => Value::ones(case.dtype(), case.ints("shape")),
        "full" if case.dtype() == DType::Bool => Value::full(DType::Bool, case.ints("shape"), true),
        "full" => Value::full(case.dtype(), case.ints("shape"), 3),
        "iota" => Value::iota(case.dtype(), case.ints("shape"), case.int("axis")),
        "constant" => with_element!(arrays[0].dtype(), T => {
            Value::constant(arrays[0].as_slice::<T>().unwrap(), arrays[0].shape())
        }),
        "scalar" => {
            with_element!(arrays[0].dtype(), T => Value::scalar(arrays[0].as_slice::<T>().unwrap()[0]))
        }
        other => panic!("the oracle has cases of `{other}`, but nothing here says what that is"),
    }]
}

/// Methods of one value, and of two, by their names.
macro_rules! methods {
    ($operation:expr, $values:expr; unary: $($unary:ident)*; binary: $($binary:ident)*;) => {
        match $operation {
            $(stringify!($unary) => Some($values[0].$unary()),)*
            $(stringify!($binary) => Some($values[0].$binary(&$values[1])),)*
            _ => None,
        }
    };
}

fn elementwise(operation: &str, values: &[Value]) -> Option<Value> {
    methods! { operation, values;
        unary: abs cbrt ceil conj cos count_leading_zeros exp expm1 floor imag is_finite is_inf is_nan log log1p
            logistic neg not popcnt real recip round round_half_away rsqrt sign sin sqrt square tan tanh;
        binary: add and atan2 complex div eq ge gt le lt maximum minimum mul ne or pow rem shl shr_arithmetic
            shr_logical sub xor;
    }
}
