//! What each operation means: slow, one element after the other, with exact numbers.

use std::cmp::Ordering;

use dispatch_runtime::prelude::*;

use crate::moves::moved;
use crate::program::Op;
use crate::tensor::Num::{self, Float, Int};
use crate::tensor::{Inexact, Tensor, is_signed};

pub type Result<T = Tensor> = std::result::Result<T, Inexact>;

/// Computes an operation, or says that its result is not exact.
pub fn apply(op: &Op, args: &[&Tensor]) -> Result {
    let ints = &op.ints;
    match op.name {
        "iota" => Tensor::make(op.dtype, &ints[1..], |i| number(op.dtype, i[ints[0] as usize])),
        "full" => Tensor::make(op.dtype, &ints[1..], |_| number(op.dtype, ints[0])),
        "add_number" => elementwise("add", &[args[0], &number_of(args[0].dtype, ints[0])?]),
        "number_sub" => elementwise("sub", &[&number_of(args[0].dtype, ints[0])?, args[0]]),
        "convert" => convert(args[0], op.dtype),
        "reshape" | "transpose" | "broadcast_to" | "reverse" | "expand_dims" | "squeeze" | "flatten"
        | "tile" | "slice_axis" | "pad" | "roll" | "concatenate" | "take" => moved(op.name, ints, args),
        "sum" | "prod" | "max" | "min" | "all" | "any" => reduced(op.name, ints, args[0]),
        "argmin" | "argmax" | "sort" | "sort_descending" | "argsort" | "cumsum" | "cummax" | "cummin" => {
            along(op.name, ints[0], args[0])
        }
        "matmul" => product(args[0], args[1]),
        "outer" => {
            let [a, b] = [args[0], args[1]];
            let m = b.data.len();
            let shape = [a.data.len() as i64, m as i64];
            let pairs = |i: &[i64]| binary("mul", a.dtype, a.data[i[0] as usize], b.data[i[1] as usize]);
            collect(a.dtype, &shape, pairs)
        }
        name => elementwise(name, args),
    }
}

fn number(dtype: DType, x: i64) -> Num {
    if dtype.is_float() { Float(x as f64) } else { Int(x.into()) }
}

fn number_of(dtype: DType, x: i64) -> Result {
    Ok(Tensor::scalar(dtype, number(dtype, x).at(dtype)?))
}

/// [`Tensor::make`] from elements that may be inexact themselves.
fn collect(dtype: DType, shape: &[i64], mut at: impl FnMut(&[i64]) -> Result<Num>) -> Result {
    let mut wrong = false;
    let made = Tensor::make(dtype, shape, |i| {
        at(i).unwrap_or_else(|Inexact| {
            wrong = true;
            Int(0)
        })
    });
    if wrong { Err(Inexact) } else { made }
}

/// Operations on elements, broadcast to one shape.
fn elementwise(name: &str, args: &[&Tensor]) -> Result {
    let shape = args.iter().fold(Vec::new(), |shape, arg| common(&shape, &arg.shape));
    let dtype = match name {
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "is_finite" | "is_nan" | "is_inf" => DType::Bool,
        "select" => args[1].dtype,
        _ => args[0].dtype,
    };
    collect(dtype, &shape, |i| {
        let x = |k: usize| args[k].broadcast(i);
        match args.len() {
            1 => unary(name, dtype, x(0)),
            2 => binary(name, args[0].dtype, x(0), x(1)),
            _ if name == "select" => Ok(if x(0).is_true() { x(1) } else { x(2) }),
            _ => {
                let low = binary("maximum", dtype, x(0), x(1))?;
                binary("minimum", dtype, low, x(2))
            }
        }
    })
}

fn common(a: &[i64], b: &[i64]) -> Vec<i64> {
    let rank = a.len().max(b.len());
    let size = |shape: &[i64], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    (0..rank).map(|i| if size(a, i) == 1 { size(b, i) } else { size(a, i) }).collect()
}

fn unary(name: &str, dtype: DType, x: Num) -> Result<Num> {
    let bits = 8 * dtype.size() as u32;
    Ok(match (name, x) {
        ("neg", Int(x)) => Int(-x),
        ("abs", Int(x)) => Int(x.abs()),
        ("sign", Int(x)) => Int(x.signum()),
        ("not", Int(x)) if dtype == DType::Bool => Int(1 - x),
        ("not", Int(x)) => Int(!x),
        ("square", Int(x)) => Int(x.wrapping_mul(x)),
        ("popcnt", Int(x)) => Int((x & ((1 << bits) - 1)).count_ones().into()),
        ("count_leading_zeros", Int(x)) => Int(((x & ((1 << bits) - 1)).leading_zeros() + bits - 128).into()),
        ("neg", Float(x)) => Float(-x),
        ("abs", Float(x)) => Float(x.abs()),
        ("sign", Float(x)) => Float(if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        ("floor", Float(x)) => Float(x.floor()),
        ("ceil", Float(x)) => Float(x.ceil()),
        ("round", Float(x)) => Float(x.round_ties_even()),
        ("square", Float(x)) => Float(x * x),
        ("relu", Float(x)) => Float(if x < 0.0 { 0.0 } else { x }),
        ("is_finite", Float(x)) => Int(x.is_finite().into()),
        ("is_nan", Float(x)) => Int(x.is_nan().into()),
        ("is_inf", Float(x)) => Int(x.is_infinite().into()),
        _ => unreachable!("`{name}` of {x:?}"),
    })
}

fn order(x: Num, y: Num) -> Option<Ordering> {
    match (x, y) {
        (Int(x), Int(y)) => Some(x.cmp(&y)),
        _ => x.float().partial_cmp(&y.float()),
    }
}

/// Two elements of one dtype.
fn binary(name: &str, dtype: DType, x: Num, y: Num) -> Result<Num> {
    let compared = |yes: &[Ordering]| Int(order(x, y).is_some_and(|order| yes.contains(&order)).into());
    use Ordering::{Equal, Greater, Less};
    match name {
        "eq" => return Ok(compared(&[Equal])),
        "ne" => return Ok(Int(1 - compared(&[Equal]).int())),
        "lt" => return Ok(compared(&[Less])),
        "le" => return Ok(compared(&[Less, Equal])),
        "gt" => return Ok(compared(&[Greater])),
        "ge" => return Ok(compared(&[Greater, Equal])),
        "maximum" | "minimum" => {
            let first = if name == "maximum" { Greater } else { Less };
            return Ok(match order(x, y) {
                None => Float(f64::NAN),
                Some(order) if order == first => x,
                Some(_) => y,
            });
        }
        _ => {}
    }
    let (x, y) = match (x, y) {
        (Int(x), Int(y)) => return integers(name, dtype, x, y).at(dtype),
        _ => (x.float(), y.float()),
    };
    let exact = match name {
        "add" => x + y,
        "sub" => x - y,
        "mul" => x * y,
        // A compiler may multiply by the reciprocal of a constant: only powers of two are sure.
        "div" if is_power(y) => x / y,
        "rem" if y != 0.0 && x.is_finite() && y.is_finite() => x % y,
        _ => return Err(Inexact),
    };
    // Of f64 the exact result has to be shown otherwise: by the size of the numbers, which `at` bounds.
    Float(exact).at(dtype)
}

fn is_power(x: f64) -> bool {
    x.is_finite() && x != 0.0 && x.to_bits() & ((1 << 52) - 1) == 0 && x.abs() < 1e3 && x.abs() > 1e-2
}

fn integers(name: &str, dtype: DType, x: i128, y: i128) -> Num {
    let bits = 8 * dtype.size() as i128;
    let mask = (1i128 << bits) - 1;
    let by = y & mask;
    Int(match name {
        "add" => x + y,
        "sub" => x - y,
        "mul" => x.wrapping_mul(y),
        "div" if y == 0 => -1,
        "div" => x / y,
        "rem" if y == 0 => x,
        "rem" => x % y,
        "and" => x & y,
        "or" => x | y,
        "xor" => x ^ y,
        "shl" if by >= bits => 0,
        "shl" => x << by,
        "shr_logical" if by >= bits => 0,
        "shr_logical" => (x & mask) >> by,
        // The sign is the highest bit, also of a dtype without one.
        "shr_arithmetic" => {
            let signed = if (x & mask) >> (bits - 1) == 1 { (x & mask) - mask - 1 } else { x & mask };
            signed >> by.min(bits - 1)
        }
        _ => unreachable!("`{name}` of integers"),
    })
}

fn convert(x: &Tensor, dtype: DType) -> Result {
    let one = |x: Num| match x {
        _ if dtype == DType::Bool => Ok(Int((x.float() != 0.0).into())),
        Int(x) if dtype.is_float() => Ok(Float(x as f64)),
        Float(x) if dtype.is_int() => {
            let fits = x.is_finite() && x.abs() < 100.0 && (x >= 0.0 || is_signed(dtype));
            if fits { Ok(Int(x.trunc() as i128)) } else { Err(Inexact) }
        }
        x => Ok(x),
    };
    collect(dtype, &x.shape, |i| one(x.get(i)))
}

fn reduced(name: &str, axes: &[i64], x: &Tensor) -> Result {
    let rank = x.shape.len() as i64;
    let axes: Vec<i64> = axes.iter().map(|a| a.rem_euclid(rank.max(1))).collect();
    let left: Vec<usize> = (0..rank).filter(|a| !axes.contains(a)).map(|a| a as usize).collect();
    let shape: Vec<i64> = left.iter().map(|&a| x.shape[a]).collect();
    let n = shape.iter().product::<i64>() as usize;
    let (operation, start) = match name {
        "sum" => ("add", number(x.dtype, 0)),
        "prod" => ("mul", number(x.dtype, 1)),
        "max" => ("maximum", extreme(x.dtype, false)),
        "min" => ("minimum", extreme(x.dtype, true)),
        "all" => ("and", Int(1)),
        _ => ("or", Int(0)),
    };
    let mut data = vec![start; n];
    // Sums of numbers of one sign and of any order are exact if the sum of their sizes is.
    let mut sizes = vec![0.0; n];
    for (i, &element) in x.data.iter().enumerate() {
        let index = crate::tensor::indices(i as i64, &x.shape);
        let place = left.iter().fold(0, |place, &a| place * x.shape[a] + index[a]) as usize;
        data[place] = binary(operation, x.dtype, data[place], element)?.at(x.dtype)?;
        sizes[place] += element.float().abs();
    }
    let limit = match x.dtype {
        DType::F16 => 2048.0,
        DType::BF16 => 256.0,
        _ => 1e6,
    };
    let whole = |x: &Num| x.float().fract() == 0.0 || !x.float().is_finite();
    if x.dtype.is_float() && matches!(name, "sum" | "prod") {
        let exact = x.data.iter().all(whole) && sizes.iter().all(|size| *size <= limit || !size.is_finite());
        if !exact || (name == "prod" && !x.data.iter().all(|x| x.float().is_finite())) {
            return Err(Inexact);
        }
    }
    Ok(Tensor { dtype: x.dtype, shape, data })
}

fn extreme(dtype: DType, greatest: bool) -> Num {
    if dtype.is_float() {
        return Float(if greatest { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    let bits = 8 * dtype.size() as u32;
    Int(match (dtype, greatest) {
        (DType::Bool, _) => greatest.into(),
        (_, true) if is_signed(dtype) => (1 << (bits - 1)) - 1,
        (_, true) => (1 << bits) - 1,
        (_, false) if is_signed(dtype) => -(1 << (bits - 1)),
        (_, false) => 0,
    })
}

/// What goes along one axis.
fn along(name: &str, axis: i64, x: &Tensor) -> Result {
    let rank = x.shape.len() as i64;
    let a = axis.rem_euclid(rank) as usize;
    let size = x.shape[a];
    let row_of = |i: &[i64]| -> Vec<Num> {
        let mut i = i.to_vec();
        (0..size)
            .map(|k| {
                i[a] = k;
                x.get(&i)
            })
            .collect()
    };
    // NaN is behind all others.
    let before = |x: &Num, y: &Num| order(*x, *y).unwrap_or(x.float().is_nan().cmp(&y.float().is_nan()));
    match name {
        "argmin" | "argmax" => {
            let mut shape = x.shape.clone();
            shape.remove(a);
            Tensor::make(DType::I32, &shape, |i| {
                let row = row_of(&[&i[..a], &[0], &i[a..]].concat());
                let nan = row.iter().position(|x| x.float().is_nan());
                let better = |x: &Num, y: &Num| {
                    let order = order(*x, *y);
                    order == Some(if name == "argmin" { Ordering::Less } else { Ordering::Greater })
                };
                let best =
                    (1..row.len()).fold(0, |best, k| if better(&row[k], &row[best]) { k } else { best });
                Int(nan.unwrap_or(best) as i128)
            })
        }
        "argsort" => Tensor::make(DType::I32, &x.shape, |i| {
            let row = row_of(i);
            let mut places: Vec<usize> = (0..row.len()).collect();
            places.sort_by(|x, y| before(&row[*x], &row[*y]));
            Int(places[i[a] as usize] as i128)
        }),
        "sort" | "sort_descending" => Tensor::make(x.dtype, &x.shape, |i| {
            let mut row = row_of(i);
            row.sort_by(|x, y| if name == "sort" { before(x, y) } else { before(y, x) });
            row[i[a] as usize]
        }),
        _ => {
            let operation = match name {
                "cumsum" => "add",
                "cummax" => "maximum",
                _ => "minimum",
            };
            if name == "cumsum" {
                reduced("sum", &[axis], x)?;
            }
            collect(x.dtype, &x.shape, |i| {
                let row = row_of(i);
                row[1..=i[a] as usize]
                    .iter()
                    .try_fold(row[0], |sum, y| binary(operation, x.dtype, sum, *y)?.at(x.dtype))
            })
        }
    }
}

fn product(a: &Tensor, b: &Tensor) -> Result {
    let (n, k, m) = (a.shape[0], a.shape[1], b.shape[1]);
    let mut size = 0.0f64;
    let out = collect(a.dtype, &[n, m], |i| {
        let mut sum = number(a.dtype, 0);
        for j in 0..k {
            let term = binary("mul", a.dtype, a.get(&[i[0], j]), b.get(&[j, i[1]]))?.at(a.dtype)?;
            size += term.float().abs();
            sum = binary("add", a.dtype, sum, term)?.at(a.dtype)?;
        }
        Ok(sum)
    })?;
    let whole = a.data.iter().chain(&b.data).all(|x| x.float().fract() == 0.0);
    // Sums of products may be in any order, and of narrow floats at any precision.
    if a.dtype.is_float() && (!whole || !size.is_finite() || size > 256.0) {
        return Err(Inexact);
    }
    Ok(out)
}
