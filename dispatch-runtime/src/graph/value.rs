//! Values: the nodes of a program under construction.
//!
//! A program is a graph of immutable, reference-counted nodes. A node knows what it was made from, so a value needs no
//! builder: only when values are handed to [`Graph::program`](super::Graph::program) are their nodes put in order.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use smallvec::SmallVec;

use super::function::Definition;
use super::poison::Poison;
use super::region::{Block, RegionId};
use super::scope::ScopeId;
use crate::aval::short;
use crate::{Array, Aval, DType, Error, Result};

/// An array that a program computes: known by dtype and shape, without data.
///
/// Operators (`+ - * / % & | ^ !`) and methods give new values. A Rust number beside a value takes its dtype, and
/// shapes are broadcast as numpy does it; dtypes are never changed silently.
///
/// A wrong operation gives a poisoned value, and so does every operation on one:
/// [`Graph::program`](super::Graph::program) reports the first error of what it is handed, with the operands and the
/// line that made it, and [`Value::check`] reports it earlier.
///
/// Cloning a value copies a pointer. Values stay on the thread that made them.
///
/// ```
/// use dispatch_runtime::graph::Graph;
/// use dispatch_runtime::{Aval, DType};
///
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [2, 3]));
/// let y = &x * 2.0 + 1.0;
/// assert_eq!((y.dtype(), y.shape()), (DType::F32, &[2, 3][..]));
///
/// let wrong = x.add(&x.reshape([3, 2]));
/// assert!(wrong.check().unwrap_err().to_string().starts_with("`add(x: f32[2,3], f32[3,2])`: "));
/// ```
#[derive(Clone)]
#[must_use = "a value that nothing is made from is not part of the program"]
pub struct Value {
    pub(super) node: Rc<Node>,
    /// Which result of the node.
    pub(super) result: u32,
}

/// What makes one or more values.
pub(super) struct Node {
    pub kind: Kind,
    pub operands: SmallVec<[Value; 2]>,
    pub results: SmallVec<[Aval; 1]>,
    /// The bodies of a loop or a branch.
    pub blocks: Vec<Block>,
    /// The graph whose inputs this depends on, if it depends on any.
    pub scope: Option<ScopeId>,
    /// Where it was made: its operation stands there.
    pub region: RegionId,
    /// The line that made it.
    pub at: &'static Location<'static>,
    pub names: RefCell<Vec<(u32, Box<str>)>>,
    /// The last walk that came by, and what it remembers.
    pub mark: Cell<Mark>,
}

/// What a walk remembers of a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    pub walk: u64,
    pub id: u32,
}

pub(super) enum Kind {
    /// An argument of the program.
    Input,
    /// An array that the program's skeleton holds: an argument that no caller gives.
    Captured(Array),
    /// The arguments of a block or a function.
    Arguments,
    /// An operation.
    Op(Op),
    /// What a wrong operation gives.
    Poison(Poison),
}

/// An operation as it is printed.
pub(super) struct Op {
    /// The text in front of the types: `stablehlo.add $0, $1`, where `$0` is the first operand, `$r0` the first block,
    /// `$f` the called function and `$$` a dollar.
    pub text: Cow<'static, str>,
    pub types: Types,
    /// Whether two of them with equal operands are one.
    pub pure: bool,
    /// The called function.
    pub function: Option<Definition>,
}

/// The types behind an operation's colon.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Types {
    /// `: T`, the type of the result, which the operands have too.
    Same,
    /// `: (A, B) -> T`.
    Function,
}

impl Value {
    /// The element type. Of a poisoned value: a guess.
    pub fn dtype(&self) -> DType {
        self.aval().dtype()
    }

    /// The sizes, outermost first. Of a poisoned value: a guess.
    pub fn shape(&self) -> &[i64] {
        self.aval().shape()
    }

    /// The number of dimensions. Of a poisoned value: a guess.
    pub fn rank(&self) -> usize {
        self.aval().rank()
    }

    /// Dtype and shape. Of a poisoned value: a guess.
    pub fn aval(&self) -> &Aval {
        &self.node.results[self.result as usize]
    }

    /// The error of the operation that poisoned the value, if one did.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let bad = Value::iota(DType::F32, [4], 0).reshape([3]).exp();
    /// assert_eq!(bad.check().unwrap_err().code(), "graph");
    /// ```
    pub fn check(&self) -> Result<&Value> {
        match &self.node.kind {
            Kind::Poison(poison) => Err(Error::clone(&poison.error)),
            _ => Ok(self),
        }
    }

    /// Names the value: the name stands in the program's text and in messages.
    ///
    /// Signs that MLIR does not allow become `_`, and a name that stands there already gets a number.
    pub fn named(self, name: impl AsRef<str>) -> Value {
        let mut names = self.node.names.borrow_mut();
        names.retain(|(result, _)| *result != self.result);
        names.push((self.result, name.as_ref().into()));
        drop(names);
        self
    }

    /// The name, if it has one.
    pub fn name(&self) -> Option<String> {
        let names = self.node.names.borrow();
        names.iter().find(|(result, _)| *result == self.result).map(|(_, name)| name.to_string())
    }

    pub(super) fn poison(&self) -> Option<&Poison> {
        match &self.node.kind {
            Kind::Poison(poison) => Some(poison),
            _ => None,
        }
    }
}

/// `x: f32[2,3]`, or without the name if there is none.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(poison) = self.poison() {
            return write!(f, "poisoned by {}", poison.error);
        }
        if let Some(name) = self.name() {
            write!(f, "{name}: ")?;
        }
        f.write_str(&short(self.dtype(), self.shape()))
    }
}

impl Drop for Node {
    /// Ends a long chain of nodes without recursion, which would end the stack.
    fn drop(&mut self) {
        let mut values: SmallVec<[Value; 8]> = SmallVec::new();
        self.release(&mut values);
        while let Some(value) = values.pop() {
            if let Some(mut node) = Rc::into_inner(value.node) {
                node.release(&mut values);
            }
        }
    }
}

impl Node {
    /// Gives up what it was made from.
    fn release(&mut self, values: &mut SmallVec<[Value; 8]>) {
        values.extend(std::mem::take(&mut self.operands));
        values.extend(self.blocks.drain(..).flat_map(Block::into_values));
        let function = match &mut self.kind {
            Kind::Op(op) => op.function.take(),
            _ => None,
        };
        values.extend(function.and_then(Definition::into_block).into_iter().flat_map(Block::into_values));
    }
}
