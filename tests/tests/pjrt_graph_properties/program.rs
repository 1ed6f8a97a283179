//! Programs as data: what random ones are made of, what they mean, and how the builder makes them.

use std::collections::BTreeMap;

use dispatch_runtime::graph::{Function, Value, concatenate, fori, if_else, switch, while_loop};
use dispatch_runtime::prelude::*;

use crate::interpret::apply;
use crate::tensor::{Inexact, Num, Tensor};

/// Values are numbered in the order in which they are made; those of a block go on from where it stands.
#[derive(Clone, Debug)]
pub struct Block {
    pub nodes: Vec<Node>,
    pub result: usize,
}

#[derive(Clone, Debug)]
pub enum Node {
    Op(Op, Vec<usize>),
    /// A block with a count and a value, repeated.
    Fori(i64, usize, Block),
    /// A block with a count and a value, while the count is less.
    While(i32, usize, Block),
    If(usize, Block, Block),
    /// By an `i32` scalar.
    Switch(usize, Vec<Block>),
    /// A block that sees its arguments only.
    Call(Vec<usize>, Block),
}

/// An operation and what it is told besides its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub name: &'static str,
    pub ints: Vec<i64>,
    pub dtype: DType,
}

/// Counts what a block is made of, by name.
pub fn count(block: &Block, counts: &mut BTreeMap<&'static str, usize>) {
    for node in &block.nodes {
        let (name, blocks): (_, Vec<&Block>) = match node {
            Node::Op(op, _) => (op.name, vec![]),
            Node::Fori(_, _, body) => ("fori", vec![body]),
            Node::While(_, _, body) => ("while_loop", vec![body]),
            Node::If(_, yes, no) => ("if_else", vec![yes, no]),
            Node::Switch(_, branches) => ("switch", branches.iter().collect()),
            Node::Call(_, body) => ("call", vec![body]),
        };
        *counts.entry(name).or_default() += 1;
        blocks.into_iter().for_each(|block| count(block, counts));
    }
}

/// Computes a block: what it makes stays behind the values in `env`.
pub fn evaluate(block: &Block, env: &mut Vec<Tensor>) -> Result<Tensor, Inexact> {
    let from = env.len();
    for node in &block.nodes {
        let value = evaluate_node(node, env)?;
        env.push(value);
    }
    let result = env[block.result].clone();
    env.truncate(from);
    Ok(result)
}

pub fn evaluate_node(node: &Node, env: &mut Vec<Tensor>) -> Result<Tensor, Inexact> {
    let with = |env: &mut Vec<Tensor>, more: Vec<Tensor>, block: &Block| {
        let from = env.len();
        env.extend(more);
        let result = evaluate(block, env);
        env.truncate(from);
        result
    };
    match node {
        Node::Op(op, args) => apply(op, &args.iter().map(|&i| &env[i]).collect::<Vec<_>>()),
        Node::Fori(times, init, body) => (0..*times).try_fold(env[*init].clone(), |value, i| {
            with(env, vec![Tensor::scalar(DType::I64, Num::Int(i.into())), value], body)
        }),
        Node::While(times, init, body) => (0..*times).try_fold(env[*init].clone(), |value, i| {
            with(env, vec![Tensor::scalar(DType::I32, Num::Int(i.into())), value], body)
        }),
        Node::If(condition, yes, no) => {
            let branch = if env[*condition].data[0].is_true() { yes } else { no };
            evaluate(branch, env)
        }
        Node::Switch(index, branches) => {
            let index = env[*index].data[0].int();
            let last = branches.len() - 1;
            let branch = usize::try_from(index).map_or(last, |i| i.min(last));
            evaluate(&branches[branch], env)
        }
        Node::Call(args, body) => {
            let mut env = args.iter().map(|&i| env[i].clone()).collect();
            evaluate(body, &mut env)
        }
    }
}

/// Makes a block with the builder.
pub fn build(block: &Block, env: &mut Vec<Value>) -> Value {
    let from = env.len();
    for node in &block.nodes {
        let value = build_node(node, env);
        env.push(value);
    }
    let result = env[block.result].clone();
    env.truncate(from);
    result
}

pub fn build_node(node: &Node, env: &[Value]) -> Value {
    let with = |env: &[Value], more: [Value; 2], block: &Block| build(block, &mut [env, &more].concat());
    match node {
        Node::Op(op, args) => build_op(op, &args.iter().map(|&i| &env[i]).collect::<Vec<_>>()),
        Node::Fori(times, init, body) => {
            fori(0, *times, env[*init].clone(), |i, value| with(env, [i, value], body))
        }
        Node::While(times, init, body) => {
            let init = (Value::scalar(0i32), env[*init].clone());
            let next = |(i, value): (Value, Value)| (&i + 1, with(env, [i, value], body));
            while_loop(init, |(i, _)| i.lt(*times), next).1
        }
        Node::If(condition, yes, no) => {
            let branch = |block: &Block| build(block, &mut env.to_vec());
            if_else(&env[*condition], || branch(yes), || branch(no))
        }
        Node::Switch(index, branches) => {
            switch(&env[*index], branches.len(), |i| build(&branches[i], &mut env.to_vec()))
        }
        Node::Call(args, body) => {
            let avals: Vec<Aval> = args.iter().map(|&i| env[i].aval().clone()).collect();
            match *args.as_slice() {
                [x] => Function::new("f", [&avals[0]], |[x]| build(body, &mut vec![x])).call([&env[x]]),
                [x, y] => {
                    let f =
                        Function::new("g", [&avals[0], &avals[1]], |args| build(body, &mut args.to_vec()));
                    f.call([&env[x], &env[y]])
                }
                _ => unreachable!("a call has one argument or two"),
            }
        }
    }
}

fn build_op(op: &Op, args: &[&Value]) -> Value {
    let (x, ints) = (args.first(), &op.ints);
    macro_rules! operations {
        (unary: $($unary:ident)*; binary: $($binary:ident)*; axis: $($axis:ident)*; axes: $($axes:ident)*; $($name:literal => $value:expr;)*) => {
            match op.name {
                $(stringify!($unary) => args[0].$unary(),)*
                $(stringify!($binary) => args[0].$binary(args[1]),)*
                $(stringify!($axis) => args[0].$axis(ints[0]),)*
                $(stringify!($axes) => args[0].$axes(ints),)*
                $($name => $value,)*
                other => unreachable!("no random program has `{other}`"),
            }
        };
    }
    let x = || *x.expect("an operand");
    operations! {
        unary: neg abs sign not floor ceil round square popcnt count_leading_zeros is_finite is_nan is_inf relu flatten;
        binary: add sub mul div rem maximum minimum and or xor shl shr_arithmetic shr_logical eq ne lt le gt ge matmul outer;
        axis: expand_dims argmin argmax sort sort_descending argsort cumsum cummax cummin;
        axes: reshape transpose broadcast_to reverse sum prod max min all any squeeze tile;
        "iota" => Value::iota(op.dtype, &ints[1..], ints[0]);
        "full" => match op.dtype {
            DType::Bool => Value::full(DType::Bool, &ints[1..], ints[0] != 0),
            dtype => Value::full(dtype, &ints[1..], ints[0]),
        };
        "add_number" => x() + ints[0];
        "number_sub" => ints[0] - x();
        "convert" => x().convert(op.dtype);
        "select" => x().select(args[1], args[2]);
        "clamp" => x().clamp(args[1], args[2]);
        "slice_axis" => x().slice_axis(ints[0], ints[1], ints[2]);
        "pad" => x().pad([ints[0]], [ints[1]], [ints[2]], args[1]);
        "roll" => x().roll(ints[0], ints[1]);
        "concatenate" => concatenate(args, ints[0]);
        "take" => x().take(args[1], ints[0]);
    }
}
