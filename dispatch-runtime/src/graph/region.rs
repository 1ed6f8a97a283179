//! Blocks: the bodies of loops, branches and functions, made by closures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use smallvec::smallvec;

use super::function::Definition;
use super::make;
use super::poison::{self, Reason};
use super::value::{Kind, Node, Op, Value};
use super::walk;
use crate::Aval;
use crate::aval::short;
use crate::error::counted;

/// Where a value is made: 0 is the program itself, every block has its own number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RegionId(u32);

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(1) };
    /// The blocks whose closures run at this moment, from the outside in.
    static OPEN: RefCell<Vec<RegionId>> = const { RefCell::new(Vec::new()) };
}

/// The body of a loop, a branch or a function.
pub(super) struct Block {
    /// The node whose results are the block's arguments.
    pub arguments: Rc<Node>,
    pub results: Vec<Value>,
    /// The values from outside that it uses.
    pub captures: Vec<Value>,
    /// Whether it computes with its arguments and with constants alone, as XLA has it for the body of a reduction or the
    /// comparison of a sort.
    pub closed: bool,
}

impl Block {
    pub fn into_values(self) -> impl Iterator<Item = Value> {
        self.results.into_iter().chain(self.captures)
    }
}

/// The innermost block whose closure runs at this moment.
pub(super) fn current() -> RegionId {
    OPEN.with_borrow(|open| open.last().copied().unwrap_or_default())
}

/// Closes a block also if its closure panics.
struct Open;

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.pop());
    }
}

/// Makes a block with arguments of these types, from a closure of the user.
#[track_caller]
pub(super) fn block(types: &[Aval], body: impl FnOnce(Vec<Value>) -> Vec<Value>) -> Block {
    let region = RegionId(NEXT.replace(NEXT.get() + 1));
    OPEN.with_borrow_mut(|open| open.push(region));
    let open = Open;
    let arguments =
        make::node(Kind::Arguments, smallvec![], types.iter().cloned().collect(), Vec::new(), None);
    let results = poison::in_user_code(|| body(make::values(arguments.clone())));
    drop(open);
    let captures = captures(&results);
    Block { arguments, results, captures, closed: false }
}

/// Makes a block that may use its arguments and constants alone: the body of a reduction, the comparison of a sort.
#[track_caller]
pub(super) fn closed_block(types: &[Aval], body: impl FnOnce(Vec<Value>) -> Vec<Value>) -> Block {
    let mut block = block(types, body);
    block.closed = true;
    block
}

impl Block {
    /// Whether a closure of the user is right as a closed block that gives these types.
    pub fn check_closed(&self, types: &[Aval]) -> Result<(), Reason> {
        if self.results.len() != types.len() {
            let expected = counted(types.len(), "value");
            return Err(format!("the closure gives {} instead of {expected}", self.results.len()));
        }
        if let Some((given, aval)) =
            self.results.iter().zip(types).find(|(given, aval)| given.aval() != *aval)
        {
            let expected = short(aval.dtype(), aval.shape());
            return Err(format!("the closure gives {given:?} instead of {expected}"));
        }
        if let Some(captured) = self.captured() {
            return Err(format!(
                "the closure uses {captured:?} from outside; it may use its arguments and constants alone"
            ));
        }
        let mut found = None;
        self.visit(|op| {
            let unfit =
                || UNFIT.iter().find(|unfit| operation(op) == **unfit).map(|unfit| format!("`{unfit}`"));
            found = found.take().or_else(|| match &op.function {
                Some(Definition::Text(_)) => Some("a composed skeleton".to_owned()),
                _ => unfit(),
            });
        });
        match found {
            Some(unfit) => Err(format!("the closure has {unfit} in it, which XLA cannot compile there")),
            None => Ok(()),
        }
    }

    /// The first value from outside that it uses. A constant can be written inside too.
    pub fn captured(&self) -> Option<&Value> {
        let constant =
            |node: &Node| matches!(&node.kind, Kind::Op(op) if op.text.starts_with("stablehlo.constant "));
        self.captures.iter().find(|value| !constant(&value.node))
    }

    /// Visits the operations of the block, of blocks inside of it, and of functions that it calls.
    fn visit(&self, mut visit: impl FnMut(&Op)) {
        let walk = walk::next();
        let mut stack: Vec<&Value> = self.results.iter().collect();
        while let Some(value) = stack.pop() {
            let node = &value.node;
            let Kind::Op(op) = &node.kind else { continue };
            if walk::visit(node, walk) {
                visit(op);
                stack.extend(&node.operands);
                stack.extend(node.blocks.iter().flat_map(|block| &block.results));
                let function = op.function.as_ref().and_then(Definition::block);
                stack.extend(function.iter().flat_map(|block| &block.results));
            }
        }
    }
}

/// The name of an operation: the first word of its text.
fn operation(op: &Op) -> &str {
    op.text.split([' ', '(']).next().unwrap_or_default().trim_matches('"')
}

/// The operations at which all known plugins end the process, if they stand in the computation of a reduction.
const UNFIT: [&str; 7] = [
    "stablehlo.while",
    "stablehlo.sort",
    "chlo.top_k",
    "stablehlo.cholesky",
    "stablehlo.triangular_solve",
    "stablehlo.fft",
    "stablehlo.custom_call",
];

/// The values that a block uses and that were made in a block around it, or in none.
fn captures(results: &[Value]) -> Vec<Value> {
    let outside = |region: RegionId| region == RegionId(0) || OPEN.with_borrow(|open| open.contains(&region));
    let walk = walk::next();
    let mut captures = Vec::new();
    let mut stack: Vec<&Value> = results.iter().collect();
    while let Some(value) = stack.pop() {
        let node = &value.node;
        if !walk::visit(node, walk) {
            continue;
        }
        if outside(node.region) {
            captures.push(Value { node: node.clone(), result: 0 });
            continue;
        }
        stack.extend(&node.operands);
        stack.extend(node.blocks.iter().flat_map(|block| &block.captures));
    }
    // In the order in which the walk from the results met them last: the order of use.
    captures.reverse();
    captures
}
