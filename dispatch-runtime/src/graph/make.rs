//! Making nodes. What stands here checks nothing but that a value belongs to one graph: operations check first.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use super::function::Definition;
use super::poison::{self, Reason};
use super::region::{self, Block};
use super::scope::{self, ScopeId};
use super::value::{Kind, Node, Op, Types, Value};
use crate::aval::shape_text;
use crate::{Array, Aval, DType};

/// An abstract value, if an array can have the shape.
pub(super) fn aval(dtype: DType, shape: &[i64]) -> Result<Aval, Reason> {
    // As the widest dtype would need it: what is larger no plugin reads.
    let possible = Aval::try_new(DType::C128, shape).is_some();
    let aval = possible.then(|| Aval::try_new(dtype, shape)).flatten();
    aval.ok_or_else(|| format!("no array of {dtype} has the shape {}", shape_text(shape)))
}

/// An input of the program that the scope stands for; dense, as all values are.
#[track_caller]
pub(super) fn input(aval: Aval, scope: ScopeId) -> Value {
    outermost(Kind::Input, aval, Some(scope))
}

/// An array that a skeleton is to hold. It belongs to no graph.
#[track_caller]
pub(super) fn captured(array: &Array) -> Value {
    outermost(Kind::Captured(array.clone()), array.aval(), None)
}

/// What stands outside of every block, wherever it is made.
#[track_caller]
fn outermost(kind: Kind, aval: Aval, scope: Option<ScopeId>) -> Value {
    let node = Node {
        kind,
        operands: smallvec![],
        results: smallvec![aval.dense()],
        blocks: Vec::new(),
        scope,
        region: region::RegionId::default(),
        at: poison::line(),
        names: Default::default(),
        mark: Default::default(),
    };
    Value { node: Rc::new(node), result: 0 }
}

/// One operation with one result. Its operands belong to one graph.
#[track_caller]
pub(super) fn op<'a>(
    text: impl Into<Cow<'static, str>>,
    types: Types,
    operands: impl IntoIterator<Item = &'a Value>,
    result: Aval,
) -> Value {
    let op = Op { text: text.into(), types, pure: true, function: None };
    let operands: SmallVec<[Value; 2]> = operands.into_iter().cloned().collect();
    let scope = operands.iter().find_map(|operand| operand.node.scope);
    Value { node: node(Kind::Op(op), operands, smallvec![result], Vec::new(), scope), result: 0 }
}

/// What an operation with blocks, several results, or a function needs besides its text.
#[derive(Default)]
pub(super) struct Extra {
    pub blocks: Vec<Block>,
    pub function: Option<Definition>,
    pub impure: bool,
}

/// One operation with any number of results, whose operands and blocks have to belong to one graph.
#[track_caller]
pub(super) fn op_many(
    text: impl Into<Cow<'static, str>>,
    operands: &[Value],
    results: impl IntoIterator<Item = Aval>,
    extra: Extra,
) -> Result<Vec<Value>, Reason> {
    let Extra { blocks, function, impure } = extra;
    let captures = blocks.iter().flat_map(|block| &block.captures);
    let scope = scope::common(operands.iter().chain(captures))?;
    let op = Op { text: text.into(), types: Types::Function, pure: !impure && blocks.is_empty(), function };
    let results: SmallVec<[Aval; 1]> = results.into_iter().collect();
    Ok(values(node(Kind::Op(op), operands.iter().cloned().collect(), results, blocks, scope)))
}

/// A node, at the line that asked for it.
#[track_caller]
pub(super) fn node(
    kind: Kind,
    operands: SmallVec<[Value; 2]>,
    results: SmallVec<[Aval; 1]>,
    blocks: Vec<Block>,
    scope: Option<ScopeId>,
) -> Rc<Node> {
    Rc::new(Node {
        kind,
        operands,
        results,
        blocks,
        scope,
        region: region::current(),
        at: poison::line(),
        names: Default::default(),
        mark: Cell::default(),
    })
}

/// Every result of a node.
pub(super) fn values(node: Rc<Node>) -> Vec<Value> {
    (0..node.results.len() as u32).map(|result| Value { node: node.clone(), result }).collect()
}

/// `$0, $1, $2`: the places of operands in a text.
pub(super) fn places(n: usize) -> String {
    (0..n).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ")
}
