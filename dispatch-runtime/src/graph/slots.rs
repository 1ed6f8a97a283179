//! What skeletons need of graphs: inputs before there is a graph, and the program that is made of them.

use super::value::Kind;
use super::{Value, make, poison, print, scope::ScopeId, walk};
use crate::{Aval, DType, Error, Program, Result};

/// An input that belongs to no graph yet. Poisoned if no array has the shape.
#[track_caller]
pub(crate) fn slot(dtype: DType, shape: &[i64]) -> Value {
    poison::build("slot", &[], || Ok(make::input(make::aval(dtype, shape)?, ScopeId::SLOTS)))
}

/// Whether both are one value.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    std::rc::Rc::ptr_eq(&a.node, &b.node) && a.result == b.result
}

/// Whether an input is a slot.
pub(crate) fn is_slot(input: &Value) -> bool {
    input.node.scope == Some(ScopeId::SLOTS)
}

/// The line that made a value.
pub(crate) fn line(value: &Value) -> String {
    value.node.at.to_string()
}

/// The inputs that these results depend on, whatever they are inputs of.
///
/// # Errors
///
/// The first wrong operation that a result depends on.
pub(crate) fn inputs(results: &[Value]) -> Result<Vec<Value>> {
    if let Some(wrong) = poison::first(results) {
        wrong.check()?;
    }
    let walk = walk::next();
    let mut inputs = Vec::new();
    let mut stack: Vec<&Value> = results.iter().rev().collect();
    while let Some(value) = stack.pop() {
        let node = &value.node;
        if !walk::visit(node, walk) {
            continue;
        }
        let first = stack.len();
        match &node.kind {
            Kind::Input => inputs.push(value.clone()),
            Kind::Arguments => {}
            Kind::Poison(poison) => return Err(Error::clone(&poison.error)),
            Kind::Op(op) => {
                let function = op.function.as_ref().map(|function| function.block());
                let blocks = node.blocks.iter().chain(function);
                stack.extend(node.operands.iter().chain(blocks.flat_map(|block| &block.results)));
            }
        }
        // The first operand on top, so that the inputs are found in the order in which they are written.
        stack[first..].reverse();
    }
    Ok(inputs)
}

/// The program that computes these results from these slots, in this order.
///
/// # Errors
///
/// As [`Graph::program`](super::Graph::program).
pub(crate) fn program<O>(slots: &[Value], results: &[Value]) -> Result<Program<O>> {
    let outputs: Vec<Aval> = results.iter().map(|value| value.aval().clone()).collect();
    Ok(Program::stablehlo(print::module(None, ScopeId::SLOTS, slots, results)?)?.with_outputs(outputs))
}
