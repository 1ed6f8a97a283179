//! From a case to the expression that it is about.

use dispatch_runtime::graph::{
    Combine, GatherOptions, Part, ScatterOptions, Slice, Transpose, TriangularOptions, Value, concatenate,
    einsum, keep, stack, step,
};
use dispatch_runtime::prelude::*;
use dispatch_tests::with_element;

use crate::data::Case;
use crate::windows;

/// The value, or values, that a case asks for. `arrays` are the operands as data, for what takes data.
pub fn build(case: &Case, values: &[Value], arrays: &[&HostArray]) -> Vec<Value> {
    let value = |i: usize| &values[i];
    if let Some(value) = by_name(case.operation, values) {
        return vec![value];
    }
    if let Some(value) =
        constant(case, arrays).or_else(|| moved(case, values)).or_else(|| indexed(case, values))
    {
        return vec![value];
    }
    match case.operation {
        "select" => vec![value(0).select(value(1), value(2))],
        "clamp" => vec![value(0).clamp(value(1), value(2))],
        "convert" => vec![value(0).convert(case.dtype())],
        "bitcast_convert" => vec![value(0).bitcast_convert(case.dtype())],
        "split" => value(0).split(case.int("axis"), case.ints("sizes")),
        "top_k" => {
            let (values, places) = value(0).top_k(case.int("k"));
            vec![values, places]
        }
        _ => match windows::build(case, values)
            .or_else(|| along(case, values))
            .or_else(|| product(case, values))
        {
            Some(value) => vec![value],
            None => {
                panic!("the oracle has cases of `{}`, but nothing here says what that is", case.operation)
            }
        },
    }
}

/// Values without operands. Those of data take it from the case's operands.
fn constant(case: &Case, arrays: &[&HostArray]) -> Option<Value> {
    Some(match case.operation {
        "zeros" => Value::zeros(case.dtype(), case.ints("shape")),
        "ones" => Value::ones(case.dtype(), case.ints("shape")),
        "full" if case.dtype() == DType::Bool => Value::full(DType::Bool, case.ints("shape"), true),
        "full" => Value::full(case.dtype(), case.ints("shape"), 3),
        "iota" => Value::iota(case.dtype(), case.ints("shape"), case.int("axis")),
        "eye" => Value::eye(case.dtype(), case.int("n")),
        "constant" => with_element!(arrays[0].dtype(), T => {
            Value::constant(arrays[0].as_slice::<T>().unwrap(), arrays[0].shape())
        }),
        "scalar" => {
            with_element!(arrays[0].dtype(), T => Value::scalar(arrays[0].as_slice::<T>().unwrap()[0]))
        }
        _ => return None,
    })
}

/// What moves elements.
fn moved(case: &Case, values: &[Value]) -> Option<Value> {
    let x = values.first()?;
    Some(match case.operation {
        "broadcast_to" => x.broadcast_to(case.ints("shape")),
        "reshape" => x.reshape(case.ints("shape")),
        "transpose" => x.transpose(case.ints("axes")),
        "swap_axes" => x.swap_axes(case.int("a"), case.int("b")),
        "move_axis" => x.move_axis(case.int("a"), case.int("b")),
        "expand_dims" => x.expand_dims(case.int("axis")),
        "squeeze" if case.text("axes") == ".." => x.squeeze(..),
        "squeeze" => x.squeeze(case.ints("axes")),
        "slice" => x.slice(parts(case.text("ranges"))),
        "slice_axis" => x.slice_axis(case.int("axis"), case.int("start"), case.int("stop")),
        "reverse" if case.text("axes") == ".." => x.reverse(..),
        "reverse" => x.reverse(case.ints("axes")),
        "roll" => x.roll(case.int("shift"), case.int("axis")),
        "tril" => x.tril(case.int("k")),
        "triu" => x.triu(case.int("k")),
        "concatenate" => concatenate(values, case.int("axis")),
        "stack" => stack(values, case.int("axis")),
        "pad" => x.pad(case.ints("low"), case.ints("high"), case.ints("interior"), &values[1]),
        "tile" => x.tile(case.ints("reps")),
        "repeat" => x.repeat(case.int("n"), case.int("axis")),
        _ => return None,
    })
}

/// `1:3;::2;-1`, what to take of each axis.
fn parts(text: &str) -> Vec<Part> {
    let bound = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(|text| text.parse().unwrap());
    let part = |text: &str| {
        if !text.contains(':') {
            return Part::Index(text.parse().unwrap());
        }
        let mut bounds = text.split(':');
        let (from, to) = (bound(bounds.next()), bound(bounds.next()));
        let range = Part::Range { from, to, inclusive: false, step: 1 };
        step(range, bound(bounds.next()).unwrap_or(1)).part()
    };
    text.split(';').filter(|text| !text.is_empty()).map(part).collect()
}

/// What takes and puts elements by indices.
fn indexed(case: &Case, values: &[Value]) -> Option<Value> {
    let x = values.first()?;
    Some(match case.operation {
        "dynamic_slice" => x.dynamic_slice(&values[1..], case.ints("sizes")),
        "dynamic_update_slice" => x.dynamic_update_slice(&values[1], &values[2..]),
        "take" => x.take(&values[1], case.int("axis")),
        "take_along" => x.take_along(&values[1], case.int("axis")),
        "put" => x.put(&values[1], &values[2], case.int("axis"), combine(case)),
        "put_along" => x.put_along(&values[1], &values[2], case.int("axis"), combine(case)),
        "one_hot" => x.one_hot(case.dtype(), case.int("classes")),
        "gather" => {
            let rows = case.text("kind") == "rows";
            let options = GatherOptions {
                offset_dims: if rows { vec![1] } else { vec![1, 2] },
                collapsed_slice_dims: if rows { vec![0] } else { vec![] },
                start_index_map: if rows { vec![0] } else { vec![0, 1] },
                index_vector_dim: 1,
                slice_sizes: if rows { vec![1, 4] } else { vec![2, 1] },
                ..GatherOptions::default()
            };
            x.gather(&values[1], &options)
        }
        "scatter" => x.scatter(&values[1], &values[2], &pairs(), Combine::Add),
        "scatter_with" => x.scatter_with(&values[1], &values[2], &pairs(), |old, new| old + new),
        _ => return None,
    })
}

/// Windows of two by one, each at a pair of indices.
fn pairs() -> ScatterOptions {
    ScatterOptions {
        update_window_dims: vec![1, 2],
        scatter_dims_to_operand_dims: vec![0, 1],
        index_vector_dim: 1,
        ..ScatterOptions::default()
    }
}

fn combine(case: &Case) -> Combine {
    match case.text("combine") {
        "set" => Combine::Set,
        "add" => Combine::Add,
        "mul" => Combine::Mul,
        "min" => Combine::Min,
        "max" => Combine::Max,
        other => panic!("no combination is called `{other}`"),
    }
}

/// What reduces, accumulates and sorts along axes.
fn along(case: &Case, values: &[Value]) -> Option<Value> {
    /// Methods that take axes, which may be kept.
    macro_rules! reductions {
        ($($name:ident $(($($arg:expr),*))?),*) => {
            match case.operation {
                $(stringify!($name) if case.flag("keep") => {
                    values[0].$name(keep(case.ints("axes")) $($(, $arg)*)?)
                })*
                $(stringify!($name) => values[0].$name(case.ints("axes") $($(, $arg)*)?),)*
                "reduce" => {
                    let zero = Value::zeros(values[0].dtype(), []);
                    values[0].reduce(zero, case.ints("axes"), |x, y| x + y)
                }
                "sort_by_key" => values[0].sort_by_key(&values[1], case.int("axis")),
                _ => return along_one(case, &values[0]),
            }
        };
    }
    values.first()?;
    Some(reductions! {
        sum, prod, max, min, all, any, count_nonzero, mean, logsumexp, softmax, log_softmax,
        var(case.int("ddof")), std(case.int("ddof"))
    })
}

fn along_one(case: &Case, x: &Value) -> Option<Value> {
    macro_rules! along {
        ($($name:ident)*) => {
            match case.operation {
                $(stringify!($name) => Some(x.$name(case.int("axis"))),)*
                _ => None,
            }
        };
    }
    along! { argmin argmax sort sort_descending argsort argsort_descending cumsum cumprod cummax cummin cumlogsumexp }
}

/// Products and systems of equations.
fn product(case: &Case, values: &[Value]) -> Option<Value> {
    let lists = |key: &str| {
        let (left, right) = case.text(key).split_once(';').expect("axes of both sides");
        let axes = |text: &str| -> Vec<i64> {
            text.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
        };
        (axes(left), axes(right))
    };
    Some(match case.operation {
        "dot_general" => {
            let (batch, contract) = (lists("batch"), lists("contract"));
            values[0].dot_general(&values[1], (&batch.0, &batch.1), (&contract.0, &contract.1))
        }
        "einsum" => einsum(case.text("text"), values),
        "triangular_solve" => {
            let options = TriangularOptions {
                left_side: case.flag("left"),
                lower: case.flag("lower"),
                unit_diagonal: case.flag("unit"),
                transpose: match case.text("turn") {
                    "yes" => Transpose::Yes,
                    "adjoint" => Transpose::Adjoint,
                    _ => Transpose::No,
                },
            };
            values[0].triangular_solve(&values[1], options)
        }
        _ => return None,
    })
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

fn by_name(operation: &str, values: &[Value]) -> Option<Value> {
    methods! { operation, values;
        unary: abs cbrt ceil conj cos count_leading_zeros exp expm1 floor imag is_finite is_inf is_nan log log1p
            logistic neg not popcnt real recip round round_half_away rsqrt sign sin sqrt square tan tanh
            erf erfc erf_inv lgamma digamma sinh cosh asin acos atan asinh acosh atanh
            relu elu sigmoid softplus silu gelu
            flatten t diag diagonal
            cholesky inverse_spd logdet_spd;
        binary: add and atan2 complex div eq ge gt le lt maximum minimum mul ne or pow rem shl shr_arithmetic
            shr_logical sub xor
            leaky_relu logaddexp
            matmul dot outer solve_spd;
    }
}
