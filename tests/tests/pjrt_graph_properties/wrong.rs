//! Random ill-typed programs: each is refused where it is made, with the operation, its operands and the line.

use dispatch_runtime::engine::fake::FakeEngine;
use dispatch_runtime::graph::{
    Conv, Function, Graph, Value, Window, concatenate, einsum, fori, if_else, stack, switch, while_loop,
};
use dispatch_runtime::prelude::*;
use dispatch_tests::short;

use crate::random::Random;

/// A wrong value: what its message begins with, the line that made it, and the value.
type Wrong = (String, u32, Value);

/// The values that a wrong operation is made of: a random array, and others that do not fit it.
struct Operands {
    x: Value,
    dtype: DType,
    shape: Vec<i64>,
    /// As `x`, of another dtype.
    other: Value,
    /// Of the same dtype, with a shape that does not broadcast with that of `x`.
    misfit: Value,
    /// As `x`, of another graph.
    foreign: Value,
    truth: Value,
    /// Kept alive, so that it is its scope that differs.
    _graph: Graph,
}

impl Operands {
    fn new(graph: &Graph, random: &mut Random) -> Operands {
        let dtype = random.pick(DType::ALL);
        let rank = random.range(1, 4);
        let shape: Vec<i64> = (0..rank).map(|_| random.range(2, 5)).collect();
        let others: Vec<DType> = DType::ALL.iter().copied().filter(|d| *d != dtype).collect();
        let mut misfit = shape.clone();
        *random_place(&mut misfit, random) += 5;
        let elsewhere = Graph::new();
        let aval = Aval::new(dtype, &shape);
        Operands {
            x: graph.input("x", &aval),
            other: graph.input("other", &Aval::new(random.pick(&others), &shape)),
            misfit: graph.input("misfit", &Aval::new(dtype, &misfit)),
            foreign: elsewhere.input("foreign", &aval),
            truth: graph.input("truth", &Aval::new(DType::Bool, &shape)),
            dtype,
            shape,
            _graph: elsewhere,
        }
    }

    fn rank(&self) -> i64 {
        self.shape.len() as i64
    }
}

fn random_place<'a>(shape: &'a mut [i64], random: &mut Random) -> &'a mut i64 {
    let i = random.below(shape.len());
    &mut shape[i]
}

/// Two operands that do not go together.
fn mismatched(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let x = &o.x;
    let y = random.pick(&[&o.other, &o.misfit, &o.foreign]);
    macro_rules! pair {
        ($name:ident) => {
            Some((format!("`{}({x:?}, {y:?})`: ", stringify!($name)), line!(), x.$name(y)))
        };
    }
    match random.below(25) {
        0 => pair!(add),
        1 => pair!(sub),
        2 => pair!(mul),
        3 => pair!(div),
        4 => pair!(rem),
        5 => pair!(pow),
        6 => pair!(maximum),
        7 => pair!(minimum),
        8 => pair!(atan2),
        9 => pair!(and),
        10 => pair!(or),
        11 => pair!(xor),
        12 => pair!(shl),
        13 => pair!(shr_arithmetic),
        14 => pair!(shr_logical),
        15 => pair!(eq),
        16 => pair!(ne),
        17 => pair!(lt),
        18 => pair!(le),
        19 => pair!(gt),
        20 => pair!(ge),
        21 => pair!(complex),
        22 => pair!(logaddexp),
        23 => Some((format!("`clamp({x:?}, {y:?}, {y:?})`: "), line!(), x.clamp(y, y))),
        _ => Some((format!("`select({:?}, {x:?}, {y:?})`: ", o.truth), line!(), o.truth.select(x, y))),
    }
}

/// A number that the dtype cannot hold.
fn number(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let x = &o.x;
    macro_rules! numbers {
        ($($number:expr => $text:literal if $fits:expr;)*) => {{
            let wrong: Vec<fn(&Value) -> Wrong> = [$((!$fits).then_some((|x: &Value| {
                (format!(concat!("`add({:?}, ", $text, ")`: "), x), line!(), x + $number)
            }) as fn(&Value) -> Wrong)),*].into_iter().flatten().collect();
            wrong
        }};
    }
    let d = o.dtype;
    let candidates = numbers! {
        300 => "300" if !matches!(d, DType::I8 | DType::U8 | DType::Bool);
        -1 => "-1" if !matches!(d, DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool);
        1.5 => "1.5" if !(d.is_int() || d == DType::Bool);
        true => "true" if false;
        1e300 => "1e300" if matches!(d, DType::F64 | DType::C128);
        70_000 => "70000" if !matches!(d, DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::F16 | DType::Bool);
        num_complex::Complex::new(1f64, 2.0) => "1.0+2.0i" if d.is_complex();
        u64::MAX => "18446744073709551615" if !d.is_int() && d != DType::Bool && d != DType::F16 || d == DType::U64;
    };
    Some(random.pick(&candidates)(x))
}

/// A dtype that the operation does not take.
fn dtype(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let (x, d) = (&o.x, o.dtype);
    let number = d.is_int() || d.is_float() || d.is_complex();
    macro_rules! unless {
        ($takes:expr; $($name:ident $(($($arg:expr),*))?)*) => {{
            if $takes {
                return None;
            }
            let all: &[fn(&Value) -> Wrong] = &[$(|x: &Value| {
                (format!("`{}({x:?})`: ", stringify!($name)), line!(), x.$name($($($arg),*)?))
            }),*];
            Some(random.pick(all)(x))
        }};
    }
    match random.below(9) {
        0 => {
            unless!(d.is_float() || d.is_complex(); exp expm1 log log1p sqrt rsqrt tanh sin cos tan logistic recip)
        }
        1 => unless!(d.is_float(); ceil floor round round_half_away is_finite is_inf erf lgamma relu gelu),
        2 => unless!(d.is_int() || d == DType::Bool; not),
        3 => unless!(d.is_int(); popcnt count_leading_zeros),
        4 => unless!(d.is_complex(); real imag conj fft(0) ifft(0)),
        5 => unless!(number; neg sign abs square sum(..) prod(..) cumsum(0)),
        6 => unless!(d == DType::Bool; all(..) any(..)),
        7 => {
            unless!(!d.is_complex(); max(..) min(..) argmin(0) argmax(0) sort(0) argsort(0) convert(DType::F32))
        }
        _ => unless!(d.is_float() || d.is_complex(); mean(..) var(.., 0) std(.., 1) cholesky),
    }
}

/// An axis that is not there, or twice.
fn axis(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let (x, rank) = (&o.x, o.rank());
    let out = if random.chance(2) { rank + random.range(0, 9) } else { -rank - 1 - random.range(0, 9) };
    macro_rules! with_axis {
        ($($name:ident $(($($arg:expr),*))?)*) => {{
            let all: &[fn(&Value, i64) -> Wrong] = &[$(|x: &Value, _axis: i64| {
                (format!("`{}({x:?})`: ", stringify!($name)), line!(), x.$name($($($arg,)*)? _axis))
            }),*];
            random.pick(all)(x, out)
        }};
    }
    Some(match random.below(10) {
        0 | 1 => with_axis! { reverse squeeze sort argsort argmin argmax max min sum prod cumsum cummax },
        2 => (format!("`swap_axes({x:?})`: "), line!(), x.swap_axes(0, out)),
        3 => (format!("`move_axis({x:?})`: "), line!(), x.move_axis(out, 0)),
        4 => (format!("`slice_axis({x:?})`: "), line!(), x.slice_axis(out, 0, 1)),
        5 => (format!("`roll({x:?})`: "), line!(), x.roll(1, out)),
        6 => (format!("`concatenate({x:?}, {x:?})`: "), line!(), concatenate(&[x, x], out)),
        7 => (format!("`reverse({x:?})`: "), line!(), x.reverse([0, -rank])),
        8 => (format!("`transpose({x:?})`: "), line!(), x.transpose(vec![0; o.shape.len() + 1])),
        _ => ("`iota()`: ".into(), line!(), Value::iota(DType::F32, &o.shape, out)),
    })
    .filter(|_| !(o.dtype.is_complex() || o.dtype == DType::Bool))
}

/// Sizes that do not fit.
fn sizes(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let (x, misfit) = (&o.x, &o.misfit);
    let n = o.shape.iter().product::<i64>();
    let huge = i64::MAX / 2;
    Some(match random.below(18) {
        0 => (format!("`reshape({x:?})`: "), line!(), x.reshape([n + 1])),
        1 => (format!("`reshape({x:?})`: "), line!(), x.reshape([-1, n + 1])),
        2 => (format!("`reshape({x:?})`: "), line!(), x.reshape([-1, -1])),
        3 => (format!("`broadcast_to({x:?})`: "), line!(), x.broadcast_to(misfit.shape())),
        4 => {
            (format!("`broadcast_to({x:?})`: "), line!(), x.broadcast_to([&[huge, huge], &*o.shape].concat()))
        }
        5 => (format!("`slice_axis({x:?})`: "), line!(), x.slice_axis(0, 0, o.shape[0] + 1)),
        6 => (format!("`slice_axis({x:?})`: "), line!(), x.slice_axis(0, 2, 1)),
        7 => (format!("`squeeze({x:?})`: "), line!(), x.squeeze(0)),
        8 => (format!("`split({x:?})`: "), line!(), x.split(0, [1, o.shape[0]]).remove(0)),
        9 => (format!("`stack({x:?}, {misfit:?})`: "), line!(), stack(&[x, misfit], 0)),
        10 => {
            let more = x.expand_dims(0);
            (format!("`concatenate({x:?}, {more:?})`: "), line!(), concatenate(&[x, &more], 0))
        }
        11 => (format!("`tile({x:?})`: "), line!(), x.tile(vec![-1; o.shape.len()])),
        12 => (format!("`repeat({x:?})`: "), line!(), x.repeat(-1, 0)),
        13 => (format!("`top_k({x:?})`: "), line!(), x.top_k(1000).0),
        14 => ("`zeros()`: ".into(), line!(), Value::zeros(o.dtype, [huge, 4])),
        15 => ("`constant()`: ".into(), line!(), Value::constant(&[1f32, 2.0], [3])),
        16 => (format!("`one_hot({x:?})`: "), line!(), x.one_hot(DType::F32, -1)),
        _ => (format!("`bitcast_convert({:?})`: ", o.truth), line!(), o.truth.bitcast_convert(DType::I8)),
    })
    .filter(|(operation, ..)| !(operation.starts_with("`top_k") && o.dtype.is_complex()))
}

/// Indices, matrices, windows.
fn structure(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let (x, misfit, other, foreign) = (&o.x, &o.misfit, &o.other, &o.foreign);
    let floats = Value::zeros(DType::F32, [2]);
    let window = Window::new([0], [0]);
    Some(match random.below(14) {
        0 => (format!("`take({x:?}, {floats:?})`: "), line!(), x.take(&floats, 0)),
        1 => (format!("`take_along({x:?}, {floats:?})`: "), line!(), x.take_along(&floats, 0)),
        2 => (format!("`matmul({x:?}, {other:?})`: "), line!(), x.matmul(other)),
        3 => (format!("`matmul({x:?}, {foreign:?})`: "), line!(), x.matmul(foreign)),
        4 => (format!("`dot({x:?}, {other:?})`: "), line!(), x.dot(other)),
        5 => (format!("`outer({x:?}, {other:?})`: "), line!(), x.outer(other)),
        6 => {
            let value = x.dot_general(misfit, (&[], &[]), (&[0], &[9]));
            (format!("`dot_general({x:?}, {misfit:?})`: "), line!() - 1, value)
        }
        7 => (format!("`einsum({x:?})`: "), line!(), einsum("ijklm->i", &[x])),
        8 => (format!("`conv({x:?}, {other:?})`: "), line!(), x.conv(other, &Conv::new("NCW,OIW->NCW"))),
        9 => (format!("`max_pool({x:?})`: "), line!(), x.max_pool(&window)),
        10 => {
            let starts: [i64; 0] = [];
            (format!("`dynamic_slice({x:?})`: "), line!(), x.dynamic_slice(starts, [1]))
        }
        11 => (format!("`solve_spd({x:?}, {other:?})`: "), line!(), x.solve_spd(other)),
        12 => {
            let cube = x.expand_dims(0).expand_dims(0);
            (format!("`diag({cube:?})`: "), line!(), cube.diag())
        }
        _ => {
            let line = line!() + 1;
            let value = x.dynamic_update_slice(other, [0]);
            (format!("`dynamic_update_slice({x:?}, {other:?}, 0)`: "), line, value)
        }
    })
}

/// Loops, branches and functions.
fn control(random: &mut Random, o: &Operands) -> Option<Wrong> {
    let (x, misfit, other) = (&o.x, &o.misfit, &o.other);
    let yes = Value::scalar(true);
    Some(match random.below(10) {
        0 => (format!("`fori(0, 3, {x:?})`: "), line!(), fori(0, 3, x.clone(), |_, _| misfit.clone())),
        1 => (format!("`fori(0, {x:?}, {x:?})`: "), line!(), fori(0, x, x.clone(), |_, x| x)),
        2 => (format!("`while({x:?})`: "), line!(), while_loop(x.clone(), |x| x, |x| x)),
        3 => {
            (format!("`while({x:?})`: "), line!(), while_loop(x.clone(), |_| yes.clone(), |_| other.clone()))
        }
        4 => (format!("`if({yes:?})`: "), line!(), if_else(&yes, || x.clone(), || misfit.clone())),
        5 => (format!("`if({x:?})`: "), line!(), if_else(x, || x.clone(), || x.clone())),
        6 => {
            let index = Value::scalar(0i32);
            (format!("`switch({index:?})`: "), line!(), switch(&index, 2, |i| [x, other][i].clone()))
        }
        7 => {
            let f = Function::new("f", [x.aval()], |[x]| x);
            (format!("`call({other:?})`: "), line!(), f.call([other]))
        }
        8 => {
            let line = line!() + 1;
            let f = Function::new("f", [other.aval()], |_| x.clone());
            (format!("`function({x:?})`: "), line, f.call([other]))
        }
        _ => {
            let line = line!() + 1;
            let body = |_: Value, inner: Value| inner.named("inner").broadcast_to([7, 7]);
            (
                format!("`broadcast_to(inner: {})`: ", &format!("{x:?}")[3..]),
                line,
                fori(0, 3, x.clone(), body),
            )
        }
    })
    .filter(|(operation, ..)| !(operation.starts_with("`broadcast_to") && o.shape == [7, 7]))
}

#[test]
fn random_wrong_programs_are_refused_by_the_builder() {
    let (client, engine) = FakeEngine::client(1);
    let wanted = if short() { 200 } else { 1000 };
    let kinds = [mismatched, number, dtype, axis, sizes, structure, control];
    let (mut refused, mut wrong) = (0, Vec::new());
    for seed in 0.. {
        if refused == wanted {
            break;
        }
        let mut random = Random::new(seed);
        let graph = Graph::new();
        let operands = Operands::new(&graph, &mut random);
        let kind = random.pick(&kinds);
        let Some((begins, line, value)) = kind(&mut random, &operands) else { continue };
        // What is made of a wrong value is wrong, whatever it is, and the first error is the one that is told.
        let value = match random.below(4) {
            0 => value.exp() + 1,
            1 => fori(0, 2, value, |_, x| x * 2.0),
            2 => concatenate(&[&operands.x, &value, &operands.misfit], 5),
            _ => value,
        };
        let compiled = graph.program(&value).and_then(|program| client.compile(&program));
        let place = format!("tests/tests/pjrt_graph_properties/wrong.rs:{line}:");
        match compiled {
            Ok(_) => wrong.push(format!("program {seed} is wrong, and nobody says so: {begins}")),
            Err(error) => {
                let text = error.to_string();
                if error.code() != "graph" || !text.starts_with(&begins) || !text.contains(&place) {
                    wrong.push(format!("program {seed}: `{text}`, not `{begins}…` at line {line}"));
                }
            }
        }
        refused += 1;
    }
    assert!(wrong.is_empty(), "{} of {wanted}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(engine.compiles(), 0, "a wrong program reached the compiler");
}
