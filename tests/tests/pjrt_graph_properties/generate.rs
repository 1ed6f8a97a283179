//! Random well-typed programs.

use dispatch_runtime::prelude::*;

use crate::program::{Block, Node, Op, evaluate_node};
use crate::random::Random;
use crate::tensor::{Num, Tensor};

const DTYPES: [DType; 13] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

const SHAPES: [&[i64]; 10] = [&[], &[1], &[3], &[4], &[2, 3], &[3, 1], &[1, 4], &[2, 3, 4], &[0], &[2, 0]];

/// A program: its arguments, and what is made of them.
pub struct Program {
    pub inputs: Vec<Tensor>,
    pub body: Block,
    /// What the program gives: the values that nothing else is made of, the last ones.
    pub results: Vec<usize>,
    pub expected: Vec<Tensor>,
}

pub fn tensor(random: &mut Random, dtype: DType, shape: &[i64]) -> Tensor {
    let special = random.chance(6);
    let at = |_: &[i64]| match dtype {
        DType::Bool => Num::Int(random.below(2) as i128),
        _ if dtype.is_float() && special && random.chance(3) => {
            Num::Float(random.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.5]))
        }
        _ if dtype.is_float() => Num::Float(random.range(-6, 7) as f64),
        _ if special => Num::Int((random.next() as i64).into()),
        _ => Num::Int(random.range(-9, 10).into()),
    };
    Tensor::make(dtype, shape, at).expect("small numbers are exact")
}

pub fn program(random: &mut Random, size: usize) -> Program {
    let n = random.range(1, 4) as usize;
    let inputs: Vec<Tensor> = (0..n)
        .map(|_| {
            let (dtype, shape) = (random.pick(&DTYPES), random.pick(&SHAPES));
            tensor(random, dtype, shape)
        })
        .collect();
    let mut env = inputs.clone();
    let nodes = nodes(random, &mut env, size, 0);
    let used = |i: usize| nodes.iter().any(|node| matches!(node, Node::Op(_, args) if args.contains(&i)));
    let mut results: Vec<usize> = (n..env.len()).rev().filter(|&i| !used(i)).take(2).collect();
    if results.is_empty() {
        results.push(env.len() - 1);
    }
    let expected = results.iter().map(|&i| env[i].clone()).collect();
    Program { inputs, body: Block { nodes, result: results[0] }, results, expected }
}

/// Makes some nodes; what they give stays in `env`.
fn nodes(random: &mut Random, env: &mut Vec<Tensor>, size: usize, depth: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    for _ in 0..size {
        // Most candidates are right; some would not be exact, or do not fit what there is.
        let made = (0..20).find_map(|_| {
            let node = candidate(random, env, depth)?;
            let value = evaluate_node(&node, env).ok()?;
            (value.data.len() <= 200).then_some((node, value))
        });
        if let Some((node, value)) = made {
            nodes.push(node);
            env.push(value);
        }
    }
    nodes
}

/// A block whose result has the type of a value: the last such value it makes.
fn block(
    random: &mut Random,
    env: &mut Vec<Tensor>,
    more: Vec<Tensor>,
    like: &Tensor,
    depth: usize,
) -> Option<Block> {
    let from = env.len();
    env.extend(more);
    let size = random.range(1, 5) as usize;
    let nodes = nodes(random, env, size, depth + 1);
    let result = (0..env.len()).rev().find(|&i| env[i].aval() == like.aval());
    env.truncate(from);
    Some(Block { nodes, result: result? })
}

fn candidate(random: &mut Random, env: &mut Vec<Tensor>, depth: usize) -> Option<Node> {
    // The later ones more often, so that programs grow deep.
    let any = |random: &mut Random, env: &[Tensor]| {
        let n = env.len();
        if random.chance(2) { n - 1 - random.below(n.min(4)) } else { random.below(n) }
    };
    if depth < 2 && random.chance(9) {
        return control(random, env, depth);
    }
    let (i, j, k) = (any(random, env), any(random, env), any(random, env));
    let x = &env[i];
    let rank = x.shape.len();
    let op = |name, ints: Vec<i64>, dtype| Op { name, ints, dtype };
    let plain = |name| op(name, Vec::new(), DType::F32);
    let axis = |random: &mut Random| {
        let n = rank as i64;
        (n > 0).then(|| random.range(-n, n))
    };
    let (int, float, boolean) = (x.dtype.is_int(), x.dtype.is_float(), x.dtype == DType::Bool);
    let fits = |j: usize| env[j].dtype == x.dtype && broadcasts(&env[j].shape, &x.shape);
    let unary: &[&str] = match () {
        _ if boolean => &["not"],
        _ if float => &[
            "neg",
            "abs",
            "sign",
            "floor",
            "ceil",
            "round",
            "square",
            "is_finite",
            "is_nan",
            "is_inf",
            "relu",
        ],
        _ if crate::tensor::is_signed(x.dtype) => {
            &["neg", "abs", "sign", "not", "square", "popcnt", "count_leading_zeros"]
        }
        _ => &["neg", "abs", "not", "square", "popcnt", "count_leading_zeros"],
    };
    let binary: &[&str] = match () {
        _ if boolean => &["and", "or", "xor", "maximum", "minimum"],
        _ if float => &["add", "sub", "mul", "div", "rem", "maximum", "minimum"],
        _ => &[
            "add",
            "sub",
            "mul",
            "div",
            "rem",
            "maximum",
            "minimum",
            "and",
            "or",
            "xor",
            "shl",
            "shr_arithmetic",
            "shr_logical",
        ],
    };
    let (made, args) = match random.below(22) {
        0 | 1 => (plain(random.pick(unary)), vec![i]),
        2..=4 if fits(j) => (plain(random.pick(binary)), vec![i, j]),
        5 if fits(j) => (plain(random.pick(&["eq", "ne", "lt", "le", "gt", "ge"])), vec![i, j]),
        6 if boolean && env[j].dtype == env[k].dtype => {
            let all = broadcasts(&env[j].shape, &env[k].shape)
                && broadcasts(&x.shape, &common(&env[j].shape, &env[k].shape));
            all.then_some((plain("select"), vec![i, j, k]))?
        }
        7 if !boolean && fits(j) && fits(k) && env[j].shape.is_empty() && env[k].shape.is_empty() => {
            (plain("clamp"), vec![i, j, k])
        }
        8 | 9 => (op("convert", vec![], random.pick(&DTYPES)), vec![i]),
        10 if !boolean => {
            let number = random.range(0, 7);
            (op(random.pick(&["add_number", "number_sub"]), vec![number], x.dtype), vec![i])
        }
        11 => {
            let (dtype, shape) = (random.pick(&DTYPES), random.pick(&SHAPES));
            if !shape.is_empty() && dtype != DType::Bool && random.chance(2) {
                let axis = random.below(shape.len()) as i64;
                (op("iota", [&[axis], shape].concat(), dtype), vec![])
            } else {
                (op("full", [&[random.below(2) as i64], shape].concat(), dtype), vec![])
            }
        }
        12 => {
            let shape = random.pick(&SHAPES);
            if broadcasts(&x.shape, shape) && common(&x.shape, shape) == *shape {
                (op("broadcast_to", shape.to_vec(), x.dtype), vec![i])
            } else if shape.iter().product::<i64>() == x.data.len() as i64 {
                (op("reshape", shape.to_vec(), x.dtype), vec![i])
            } else {
                (plain("flatten"), vec![i])
            }
        }
        13 => {
            let mut axes: Vec<i64> = (0..rank as i64).collect();
            (1..rank).for_each(|n| axes.swap(n, random.below(n + 1)));
            (op("transpose", axes, x.dtype), vec![i])
        }
        14 => match random.below(3) {
            0 => (op("expand_dims", vec![random.below(rank + 1) as i64], x.dtype), vec![i]),
            1 => {
                let ones = (0..rank as i64).filter(|&a| x.shape[a as usize] == 1).collect();
                (op("squeeze", ones, x.dtype), vec![i])
            }
            _ => (op("tile", (0..rank).map(|_| random.range(1, 3)).collect(), x.dtype), vec![i]),
        },
        15 => {
            let a = axis(random)?;
            let n = x.shape[a.rem_euclid(rank as i64) as usize];
            match random.below(4) {
                0 => (op("reverse", vec![a], x.dtype), vec![i]),
                1 if n > 0 => (op("roll", vec![random.range(-5, 6), a], x.dtype), vec![i]),
                _ => {
                    let start = random.range(0, n + 1);
                    (op("slice_axis", vec![a, start, random.range(start, n + 1)], x.dtype), vec![i])
                }
            }
        }
        16 => {
            let a = axis(random)?;
            let same = |j: &usize| {
                let mut shape = env[*j].shape.clone();
                if shape.len() != rank || env[*j].dtype != x.dtype {
                    return false;
                }
                let a = a.rem_euclid(rank as i64) as usize;
                shape[a] = x.shape[a];
                shape == x.shape
            };
            (op("concatenate", vec![a], x.dtype), [i, i, j].into_iter().filter(same).collect())
        }
        17 if rank == 1 && env[j].dtype == x.dtype && env[j].shape.is_empty() => {
            let ints = vec![random.range(0, 3), random.range(0, 3), random.range(0, 2)];
            (op("pad", ints, x.dtype), vec![i, j])
        }
        17 if env[j].dtype.is_int() => {
            let a = axis(random)?;
            (x.shape[a.rem_euclid(rank as i64) as usize] > 0).then_some(())?;
            (op("take", vec![a], x.dtype), vec![i, j])
        }
        18 | 19 => {
            let names: &[&str] =
                if boolean { &["all", "any", "max"] } else { &["sum", "prod", "max", "min"] };
            let axes = (0..rank as i64).filter(|_| random.chance(2)).collect();
            (op(random.pick(names), axes, x.dtype), vec![i])
        }
        20 => {
            let a = axis(random)?;
            (x.shape[a.rem_euclid(rank as i64) as usize] > 0).then_some(())?;
            let names: &[&str] = if boolean {
                &["argmax", "argmin", "sort"]
            } else {
                &["argmin", "argmax", "sort", "sort_descending", "argsort", "cumsum", "cummax", "cummin"]
            };
            (op(random.pick(names), vec![a], x.dtype), vec![i])
        }
        _ if (int || float) && env[j].dtype == x.dtype && rank == 2 && env[j].shape.len() == 2 => {
            let name = if env[j].shape[0] == x.shape[1] { "matmul" } else { "outer" };
            (plain(name), vec![i, j])
        }
        _ => return None,
    };
    Some(Node::Op(made, args))
}

fn control(random: &mut Random, env: &mut Vec<Tensor>, depth: usize) -> Option<Node> {
    let i = random.below(env.len());
    let like = env[i].clone();
    let count = |dtype| Tensor::scalar(dtype, Num::Int(0));
    Some(match random.below(5) {
        0 => {
            let body = block(random, env, vec![count(DType::I64), like.clone()], &like, depth)?;
            Node::Fori(random.range(0, 4), i, body)
        }
        1 => {
            let body = block(random, env, vec![count(DType::I32), like.clone()], &like, depth)?;
            Node::While(random.range(0, 4) as i32, i, body)
        }
        2 => {
            let c = env.iter().position(|x| x.dtype == DType::Bool && x.shape.is_empty())?;
            let mut branch = || block(random, env, vec![], &like, depth);
            Node::If(c, branch()?, branch()?)
        }
        3 => {
            let index = env.iter().position(|x| x.dtype == DType::I32 && x.shape.is_empty())?;
            let branches: Option<Vec<Block>> =
                (0..3).map(|_| block(random, env, vec![], &like, depth)).collect();
            Node::Switch(index, branches?)
        }
        _ => {
            let j = random.below(env.len());
            let args = if random.chance(2) { vec![i] } else { vec![i, j] };
            let mut own: Vec<Tensor> = args.iter().map(|&i| env[i].clone()).collect();
            let body = block(random, &mut own, vec![], &like, depth)?;
            Node::Call(args, body)
        }
    })
}

fn broadcasts(a: &[i64], b: &[i64]) -> bool {
    a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b || *a == 1 || *b == 1)
}

fn common(a: &[i64], b: &[i64]) -> Vec<i64> {
    let rank = a.len().max(b.len());
    let size = |shape: &[i64], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    (0..rank).map(|i| if size(a, i) == 1 { size(b, i) } else { size(a, i) }).collect()
}
