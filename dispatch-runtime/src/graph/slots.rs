//! What skeletons need of graphs: inputs before there is a graph, arrays that they hold, and the program that is made of
//! them.

use super::function::Definition;
use super::operand::Arg;
use super::value::Kind;
use super::{Value, make, poison, print, scope::ScopeId, walk};
use crate::aval::brief;
use crate::{Array, Aval, DType, Error, Program, Result};

/// An input that belongs to no graph yet. Poisoned if no array has the shape.
#[track_caller]
pub(crate) fn slot(dtype: DType, shape: &[i64]) -> Value {
    poison::build("slot", &[], || Ok(make::input(make::aval(dtype, shape)?, ScopeId::SLOTS)))
}

/// What host data for a slot is whose elements lie so; the poisoned value if there is none.
#[track_caller]
pub(crate) fn strided(slot: &Value, strides: &[i64], offset: usize) -> Result<Aval, Value> {
    poison::attempt("strided", &[Arg::Value(slot)], || {
        let layout = Aval::strided(slot.dtype(), slot.shape(), strides, offset);
        layout.map_err(|error| match error {
            Error::Value { expected, got, .. } => format!("expected {expected}, got {got}"),
            other => other.to_string(),
        })
    })
}

/// The slot under a name, which the error of a poisoned one has too.
pub(crate) fn named(slot: Value, name: &str) -> Value {
    let guess = slot.aval().clone();
    let poisoned = poison::told_as(slot, |operation| match operation {
        "slot" => format!("slot({name})"),
        other => format!("{other}({name}: {})", brief(&guess)),
    });
    poisoned.named(name)
}

/// An array as a value. Poisoned if it is gone.
#[track_caller]
pub(crate) fn capture(array: &Array) -> Value {
    poison::build("capture", &[], || match array.is_donated() {
        true => Err(format!("{array} was donated to an earlier call and is gone")),
        false => Ok(make::captured(array)),
    })
}

/// What results are computed from.
#[derive(Default)]
pub(crate) struct Sources {
    /// The inputs, whatever they are inputs of.
    pub inputs: Vec<Value>,
    /// The captured arrays, each once, with the values that it is.
    pub captured: Vec<(Array, Vec<Value>)>,
}

impl Sources {
    fn add_captured(&mut self, array: &Array, value: &Value) {
        match self.captured.iter_mut().find(|(known, _)| known.same(array)) {
            Some((_, values)) => values.push(value.clone()),
            None => self.captured.push((array.clone(), vec![value.clone()])),
        }
    }
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

/// What these results depend on.
///
/// # Errors
///
/// The first wrong operation that a result depends on.
pub(crate) fn sources(results: &[Value]) -> Result<Sources> {
    if let Some(wrong) = poison::first(results) {
        wrong.check()?;
    }
    let walk = walk::next();
    let mut sources = Sources::default();
    let mut stack: Vec<&Value> = results.iter().rev().collect();
    while let Some(value) = stack.pop() {
        let node = &value.node;
        if !walk::visit(node, walk) {
            continue;
        }
        let first = stack.len();
        match &node.kind {
            Kind::Input => sources.inputs.push(value.clone()),
            Kind::Captured(array) => sources.add_captured(array, value),
            Kind::Arguments => {}
            Kind::Poison(poison) => return Err(Error::clone(&poison.error)),
            Kind::Op(op) => {
                let function = op.function.as_ref().and_then(Definition::block);
                let blocks = node.blocks.iter().chain(function);
                stack.extend(node.operands.iter().chain(blocks.flat_map(|block| &block.results)));
            }
        }
        // The first operand on top, so that the inputs are found in the order in which they are written.
        stack[first..].reverse();
    }
    Ok(sources)
}

/// The program that computes these results from these slots, in this order, and the captured arrays.
///
/// # Errors
///
/// As [`Graph::program`](super::Graph::program).
pub(crate) fn program<O>(
    slots: &[Value],
    captured: &[(Array, Vec<Value>)],
    results: &[Value],
) -> Result<Program<O>> {
    let outputs: Vec<Aval> = results.iter().map(|value| value.aval().clone()).collect();
    let captured: Vec<&[Value]> = captured.iter().map(|(_, values)| &values[..]).collect();
    let text = print::module(None, ScopeId::SLOTS, slots, &captured, results)?;
    Ok(Program::stablehlo(text)?.with_outputs(outputs))
}
