//! Loops and branches, with closures as their bodies.

use super::make::{self, Extra, op_many};
use super::operand::{Arg, Operand};
use super::poison::{Reason, attempt, first};
use super::region::{Block, block};
use super::value::Value;
use crate::aval::short;
use crate::error::counted;
use crate::{Aval, DType};

/// What a loop carries and a branch gives: a [`Value`], or a tuple, an array or a `Vec` of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be carried by a loop, or given by a branch or a function",
    label = "not a structure of graph values",
    note = "use `Value`, or a tuple, an array or a `Vec` of values"
)]
pub trait Carry: Clone {
    /// The values in order.
    #[doc(hidden)]
    fn list(&self) -> Vec<Value>;

    /// Whether another one has as many values in the same places.
    #[doc(hidden)]
    fn same_structure(&self, other: &Self) -> bool;

    /// The same structure of other values.
    #[doc(hidden)]
    fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> Self;
}

impl Carry for Value {
    fn list(&self) -> Vec<Value> {
        vec![self.clone()]
    }

    fn same_structure(&self, _: &Value) -> bool {
        true
    }

    fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> Value {
        values.next().expect("as many values as the structure has")
    }
}

impl<T: Carry> Carry for Vec<T> {
    fn list(&self) -> Vec<Value> {
        self.iter().flat_map(T::list).collect()
    }

    fn same_structure(&self, other: &Vec<T>) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.same_structure(b))
    }

    fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> Vec<T> {
        self.iter().map(|item| item.rebuild(values)).collect()
    }
}

impl<T: Carry, const N: usize> Carry for [T; N] {
    fn list(&self) -> Vec<Value> {
        self.iter().flat_map(T::list).collect()
    }

    fn same_structure(&self, other: &[T; N]) -> bool {
        self.iter().zip(other).all(|(a, b)| a.same_structure(b))
    }

    fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> [T; N] {
        std::array::from_fn(|i| self[i].rebuild(values))
    }
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),*);)*) => {
        $(impl<$($name: Carry),*> Carry for ($($name,)*) {
            fn list(&self) -> Vec<Value> {
                #[allow(unused_mut)]
                let mut list = Vec::new();
                $(list.extend(self.$i.list());)*
                list
            }

            #[allow(unused_variables)]
            fn same_structure(&self, other: &Self) -> bool {
                true $(&& self.$i.same_structure(&other.$i))*
            }

            #[allow(unused_variables, clippy::unused_unit)]
            fn rebuild(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
                ($(self.$i.rebuild(values),)*)
            }
        })*
    };
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

/// Repeats `body` while `condition` holds; gives what the last round gave, or `init` if there was none.
///
/// ```
/// use dispatch_runtime::graph::{Graph, while_loop};
/// use dispatch_runtime::prelude::*;
///
/// // How often can x be halved until it is less than 1?
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, []));
/// let count = Value::scalar(0i32);
/// let (_, count) = while_loop(
///     (x, count),
///     |(x, _)| x.ge(1.0),
///     |(x, count)| (x * 0.5, count + 1),
/// );
/// let client = Client::cpu()?;
/// let executable = client.compile(graph.program(count)?)?;
/// let x = client.array(&[10f32], [])?;
/// assert_eq!(executable.execute(&[&x])?[0].to_vec::<i32>()?, [4]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// The condition is no `bool` scalar, or a round gives another number of values, another dtype or another shape than it
/// takes.
#[track_caller]
pub fn while_loop<S: Carry>(init: S, condition: impl FnOnce(S) -> Value, body: impl FnOnce(S) -> S) -> S {
    let values = init.list();
    let types = avals(&values);
    let made = attempt("while", &args(&values), || {
        let rebuild = |values: Vec<Value>| init.rebuild(&mut values.into_iter());
        let condition = block(&types, |values| vec![condition(rebuild(values))]);
        let mut same = true;
        let body = block(&types, |values| {
            let next = body(rebuild(values));
            same = init.same_structure(&next);
            next.list()
        });
        Ok((condition, body, same))
    });
    // Not in a closure, which would be the caller of what it calls.
    let made = match made {
        Ok((condition, body, same)) => {
            let text = format!("\"stablehlo.while\"({}) ($r0, $r1)", make::places(values.len()));
            with_blocks(
                "while",
                &args(&values),
                &values,
                text,
                &types,
                [condition, body],
                |[condition, body]| {
                    is_condition(&condition.results[0])?;
                    same_types("a round", body, &types, same)
                },
            )
        }
        Err(poisoned) => Err(poisoned),
    };
    finish(&init, made)
}

/// Counts from `from` to `to`, without `to`, and repeats `body` with the count and the state; gives the last state.
///
/// The count is an `i64` scalar unless a bound is a value of another integer type.
///
/// ```
/// use dispatch_runtime::graph::fori;
/// use dispatch_runtime::prelude::*;
/// use dispatch_runtime::graph::Graph;
///
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::I64, [2]));
/// let sum = fori(0, 4, x, |i, x| x + i);
/// let client = Client::cpu()?;
/// let executable = client.compile(graph.program(sum)?)?;
/// let x = client.array(&[10i64, 20], [2])?;
/// assert_eq!(executable.execute(&[&x])?[0].to_vec::<i64>()?, [16, 26]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// As [`while_loop`]; or a bound is no integer scalar.
#[track_caller]
pub fn fori<S: Carry>(from: impl Operand, to: impl Operand, init: S, body: impl FnOnce(Value, S) -> S) -> S {
    let bounds = [from.operand(), to.operand()];
    let operands: Vec<Value> = init.list();
    let shown: Vec<Arg<'_>> = bounds.iter().copied().chain(operands.iter().map(Arg::Value)).collect();
    let made = attempt("fori", &shown, || {
        let dtype = bounds.iter().find_map(Arg::value).map_or(DType::I64, |bound| bound.dtype());
        let [from, to] = [bounds[0].at(dtype, &[])?, bounds[1].at(dtype, &[])?];
        if !dtype.is_int() || [&from, &to].iter().any(|bound| bound.rank() > 0 || bound.dtype() != dtype) {
            return Err("the bounds have to be integer scalars of one dtype".into());
        }
        let values: Vec<Value> = [from, to].into_iter().chain(operands.iter().cloned()).collect();
        let types = avals(&values);
        let condition = block(&types, |values| vec![values[0].lt(&values[1])]);
        let mut same = true;
        let body = block(&types, |values| {
            let next = body(values[0].clone(), init.rebuild(&mut values[2..].iter().cloned()));
            same = init.same_structure(&next);
            [&values[0] + 1, values[1].clone()].into_iter().chain(next.list()).collect()
        });
        Ok((values, types, condition, body, same))
    });
    let made = match made {
        Ok((values, types, condition, body, same)) => {
            let text = format!("\"stablehlo.while\"({}) ($r0, $r1)", make::places(values.len()));
            with_blocks("fori", &shown, &values, text, &types, [condition, body], |[_, body]| {
                same_types("a round", body, &types, same)
            })
        }
        Err(poisoned) => Err(poisoned),
    };
    finish(&init, made.map(|mut values| values.split_off(2)))
}

/// What `yes` gives where `condition` holds, else what `no` gives; only one of them is computed.
///
/// For a choice element by element there is [`Value::select`].
///
/// ```
/// use dispatch_runtime::graph::{Graph, if_else};
/// use dispatch_runtime::{Aval, DType};
///
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [3]));
/// let total = x.sum(..);
/// let y = if_else(&total.gt(0.0), || &x / &total, || x.clone());
/// graph.program(y)?;
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
///
/// # Errors
///
/// The condition is no `bool` scalar, or the branches give different numbers of values, dtypes or shapes.
#[track_caller]
pub fn if_else<S: Carry>(condition: &Value, yes: impl FnOnce() -> S, no: impl FnOnce() -> S) -> S {
    let mut structure = None;
    let yes = block(&[], |_| structure.insert(yes()).list());
    let structure = structure.expect("a block runs its closure");
    let mut same = true;
    let no = block(&[], |_| {
        let given = no();
        same = structure.same_structure(&given);
        given.list()
    });
    let types = avals(&yes.results);
    let operands = std::slice::from_ref(condition);
    let text = "\"stablehlo.if\"($0) ($r0, $r1)".into();
    let made = with_blocks("if", &args(operands), operands, text, &types, [yes, no], |[_, no]| {
        is_condition(condition)?;
        same_types("the other branch", no, &types, same)
    });
    finish(&structure, made)
}

/// What `branch(i)` gives for the index `i`, counted from 0; the last of the `count` branches for any other index. The
/// closure is called once for each branch, and only the chosen branch is computed.
///
/// ```
/// use dispatch_runtime::graph::{Graph, switch};
/// use dispatch_runtime::{Aval, DType};
///
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [3]));
/// let kind = graph.input("kind", &Aval::new(DType::I32, []));
/// let y = switch(&kind, 3, |i| match i {
///     0 => x.exp(),
///     1 => x.tanh(),
///     _ => x.clone(),
/// });
/// graph.program(y)?;
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
///
/// # Errors
///
/// The index is no `i32` scalar, there is no branch, or they give different numbers of values, dtypes or shapes.
#[track_caller]
pub fn switch<S: Carry>(index: &Value, count: usize, mut branch: impl FnMut(usize) -> S) -> S {
    let (mut structure, mut same) = (None, true);
    // One at least, which says the structure.
    let blocks: Vec<Block> = (0..count.max(1))
        .map(|i| {
            block(&[], |_| {
                let given = branch(i);
                let list = given.list();
                same &= structure.get_or_insert_with(|| given.clone()).same_structure(&given);
                list
            })
        })
        .collect();
    let structure = structure.expect("a block runs its closure");
    let types = avals(&blocks[0].results);
    let places: Vec<String> = (0..blocks.len()).map(|i| format!("$r{i}")).collect();
    let text = format!("\"stablehlo.case\"($0) ({})", places.join(", "));
    let operands = std::slice::from_ref(index);
    let made = with_blocks("switch", &args(operands), operands, text, &types, blocks, |blocks| {
        if count == 0 {
            return Err("there is no branch".into());
        }
        if *index.aval() != Aval::new(DType::I32, []) {
            return Err("the index has to be an i32[]".into());
        }
        blocks[1..].iter().try_for_each(|branch| same_types("another branch", branch, &types, same))
    });
    finish(&structure, made)
}

fn avals(values: &[Value]) -> Vec<Aval> {
    values.iter().map(|value| value.aval().clone()).collect()
}

fn args(values: &[Value]) -> Vec<Arg<'_>> {
    values.iter().map(Arg::Value).collect()
}

fn is_condition(condition: &Value) -> Result<(), Reason> {
    if condition.dtype() == DType::Bool && condition.rank() == 0 {
        return Ok(());
    }
    Err(format!("the condition has to be a bool[], not {condition:?}"))
}

/// An operation with blocks, unless a block gives a poisoned value.
#[track_caller]
fn with_blocks<B: AsRef<[Block]> + IntoIterator<Item = Block>>(
    operation: &'static str,
    shown: &[Arg<'_>],
    operands: &[Value],
    text: String,
    types: &[Aval],
    blocks: B,
    check: impl FnOnce(&B) -> Result<(), Reason>,
) -> Result<Vec<Value>, Value> {
    let given = blocks.as_ref().iter().flat_map(|block| &block.results);
    if let Some(poisoned) = first(operands.iter().chain(given)) {
        return Err(poisoned.clone());
    }
    attempt(operation, shown, || {
        check(&blocks)?;
        let blocks = blocks.into_iter().collect();
        op_many(text, operands, types.iter().cloned(), Extra { blocks, ..Extra::default() })
    })
}

/// Whether a block gives what it has to, as `a round` or `the other branch` does.
fn same_types(what: &str, block: &Block, types: &[Aval], same: bool) -> Result<(), Reason> {
    if block.results.len() != types.len() {
        let values = |n| counted(n, "value");
        return Err(format!("{what} gives {}, not {}", values(block.results.len()), types.len()));
    }
    if !same {
        return Err(format!("{what} gives the values in another structure"));
    }
    match block.results.iter().zip(types).find(|(result, aval)| result.aval() != *aval) {
        Some((result, aval)) => {
            Err(format!("{what} gives {result:?}, not {}", short(aval.dtype(), aval.shape())))
        }
        None => Ok(()),
    }
}

fn finish<S: Carry>(structure: &S, made: Result<Vec<Value>, Value>) -> S {
    match made {
        Ok(values) => structure.rebuild(&mut values.into_iter()),
        Err(poisoned) => structure.rebuild(&mut std::iter::repeat(poisoned)),
    }
}
