//! What a compiled module costs, for plugins that do not say.
//!
//! Counted as XLA's `HloCostAnalysis` does it for the CPU, so that the numbers mean the same on every plugin: a fused
//! multiply-add is two operations; exponentials and their like, which XLA counts apart, are none; the body of a loop
//! counts once, the dearest branch for the choice; a fusion reads and writes at its border only. There are
//! differences:
//!
//! - XLA takes 1 off both numbers for each `custom-call`, whose costs it does not know; here it costs nothing.
//! - XLA adds in `f32`, so its sums are rounded from 2^24 on.
//! - A reduction of nothing to something costs XLA less than nothing, and here nothing.
//! - XLA of the time of C API 0.81 counts several results of one operation, such as a sort, as pointers; today's XLA
//!   counts the arrays, and so is it here.

use std::collections::{HashMap, HashSet};

use super::proto::{Computation, Instruction, Module};
use super::shape::TUPLE;
use crate::engine::pjrt::proto::Shape;

/// What XLA reckons for a pointer, which is what a tuple has of each element.
const POINTER: f64 = 8.0;

/// The costs of running something once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Operations on numbers of any dtype, as XLA's `flops`.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

/// The costs of a module's entry.
pub fn of(module: &Module) -> Costs {
    // XLA writes what is called before its callers.
    let mut counter = Counter::default();
    for computation in &module.computations {
        let costs = counter.computation(computation);
        counter.known.insert(computation.id, (computation, costs));
    }
    counter.called(module.entry_computation_id)
}

#[derive(Default)]
struct Counter<'a> {
    /// The computations up to here, by their ids.
    known: HashMap<i64, (&'a Computation, Costs)>,
    /// The shapes of the instructions of the computation that is being counted, by their ids.
    shapes: HashMap<i64, &'a Shape>,
}

impl<'a> Counter<'a> {
    fn computation(&mut self, computation: &'a Computation) -> Costs {
        self.shapes = shapes(computation);
        let mut sum = Costs::default();
        for instruction in &computation.instructions {
            sum.flops += self.flops(instruction);
            sum.bytes += self.bytes(instruction);
        }
        sum
    }

    /// The costs of a computation; none of one that is not there.
    fn called(&self, id: i64) -> Costs {
        self.known.get(&id).map_or(Costs::default(), |(_, costs)| *costs)
    }

    /// The costs of all that an instruction calls.
    fn calls(&self, instruction: &'a Instruction) -> impl Iterator<Item = Costs> {
        instruction.called_computation_ids.iter().map(|&id| self.called(id))
    }

    fn flops(&self, instruction: &'a Instruction) -> f64 {
        let result = instruction.shape.as_ref();
        let operand = |i: usize| self.operand(instruction, i);
        let callee = |i: usize| self.calls(instruction).nth(i).unwrap_or_default().flops;
        match &*instruction.opcode {
            opcode if is_elementwise(opcode) => elements(result),
            "dot" => {
                let contracting = instruction.dot.iter().flat_map(|numbers| &numbers.lhs_contracting);
                let terms: f64 = contracting.map(|&axis| dimension(operand(0), axis)).product();
                2.0 * terms * elements(result)
            }
            "convolution" => convolution(instruction, operand(0), operand(1)),
            // The first element of each result is there already.
            "reduce" => (elements(operand(0)) - elements(first(result))).max(0.0) * callee(0),
            "reduce-window" => (window(instruction) - 1.0).max(0.0) * elements(first(result)) * callee(0),
            "select-and-scatter" => {
                elements(operand(1)) * ((window(instruction) - 1.0).max(0.0) * callee(0) + callee(1))
            }
            "map" => elements(result) * callee(0),
            "scatter" => elements(operand(updates(instruction))) * callee(0),
            // As if all rows were one.
            "sort" => elements(operand(0)) * ceil_log2(elements(operand(0))),
            "fft" => {
                let stages = instruction.fft_length.iter().map(|&n| f64::from(n.max(1).ilog2()));
                8.0 * stages.product::<f64>() * elements(operand(0))
            }
            "triangular-solve" => 2.0 * last(operand(0)) * elements(operand(1)),
            "cholesky" => (last(operand(0)) * elements(operand(0)) / 3.0).floor(),
            "fusion" | "call" | "async-start" => callee(0),
            "while" => self.calls(instruction).map(|costs| costs.flops).sum(),
            "conditional" => self.calls(instruction).map(|costs| costs.flops).fold(0.0, f64::max),
            _ => 0.0,
        }
    }

    fn bytes(&self, instruction: &'a Instruction) -> f64 {
        let result = instruction.shape.as_ref();
        let operand = |i: usize| size(self.operand(instruction, i));
        let callees = || self.calls(instruction).map(|costs| costs.bytes);
        match &*instruction.opcode {
            "parameter" | "constant" | "get-tuple-element" | "bitcast" => 0.0,
            "after-all" | "add-dependency" | "custom-call" => 0.0,
            "tuple" => size(result),
            // Only what is taken or replaced is touched; of several indices XLA counts the first.
            "slice" => 2.0 * size(result),
            "dynamic-slice" | "gather" => 2.0 * size(result) + operand(1),
            "dynamic-update-slice" => 2.0 * operand(1) + operand(2),
            "scatter" => {
                let first = updates(instruction);
                let updates = first..instruction.operand_ids.len();
                3.0 * updates.map(operand).sum::<f64>() + operand(first.saturating_sub(1))
            }
            // Half of a triangular matrix.
            "triangular-solve" => operand(0) / 2.0 + operand(1) + size(result),
            "cholesky" => operand(0),
            "fusion" => self.fusion(instruction),
            "call" | "async-start" | "while" => callees().sum(),
            "conditional" => callees().fold(0.0, f64::max),
            _ => leaves(result) + (0..instruction.operand_ids.len()).map(operand).sum::<f64>(),
        }
    }

    /// What a fusion reads and writes.
    fn fusion(&self, fusion: &'a Instruction) -> f64 {
        let called = fusion.called_computation_ids.first().and_then(|id| self.known.get(id));
        let Some((computation, _)) = called else { return 0.0 };
        let shapes = shapes(computation);
        let written = |id: i64, shape: Option<&Shape>| {
            let update = computation.instructions.iter().find(|inner| inner.id == id);
            // The rest of what is updated stays where it is.
            match update.filter(|inner| inner.opcode == "dynamic-update-slice") {
                Some(update) => size(update.operand_ids.get(1).and_then(|id| shapes.get(id)).copied()),
                None => leaves(shape),
            }
        };
        let root = computation.instructions.iter().find(|inner| inner.id == computation.root_id);
        let written: f64 = match root.filter(|root| root.opcode == "tuple") {
            Some(root) => root.operand_ids.iter().map(|&id| written(id, shapes.get(&id).copied())).sum(),
            None => written(computation.root_id, fusion.shape.as_ref()),
        };
        written + reads(computation, &shapes)
    }

    fn operand(&self, instruction: &Instruction, index: usize) -> Option<&'a Shape> {
        self.shapes.get(instruction.operand_ids.get(index)?).copied()
    }
}

/// The shapes of a computation's instructions, by their ids.
fn shapes(computation: &Computation) -> HashMap<i64, &Shape> {
    computation.instructions.iter().filter_map(|i| Some((i.id, i.shape.as_ref()?))).collect()
}

/// What a fused computation reads: its arguments, as far as it uses them, and its constants.
fn reads(computation: &Computation, shapes: &HashMap<i64, &Shape>) -> f64 {
    let shape = |id: i64| shapes.get(&id).copied();
    let (mut arguments, mut read, mut sum) = (HashSet::new(), HashSet::new(), 0.0);
    for instruction in &computation.instructions {
        let result = instruction.shape.as_ref();
        match &*instruction.opcode {
            "parameter" => drop(arguments.insert(instruction.id)),
            // A single number is part of the code.
            "constant" if elements(result) > 1.0 => sum += size(result),
            _ => {}
        }
        for (i, &id) in instruction.operand_ids.iter().enumerate() {
            if !arguments.contains(&id) || instruction.operand_ids[..i].contains(&id) {
                continue;
            }
            sum += match &*instruction.opcode {
                // An element of an argument is an argument.
                "get-tuple-element" => {
                    arguments.insert(instruction.id);
                    0.0
                }
                "slice" => size(result),
                "dynamic-slice" if i == 0 => size(result),
                "dynamic-update-slice" if i == 0 => 0.0,
                "broadcast" | "reshape" => size(shape(id)),
                // The others read it together.
                _ if read.insert(id) => size(shape(id)),
                _ => 0.0,
            };
        }
    }
    sum
}

/// Whether an operation costs one for each element of its result. XLA counts also those on integers, and a complex one
/// as one; what takes a series (`exponential`, `sqrt`, `power`, …) it counts apart.
fn is_elementwise(opcode: &str) -> bool {
    matches!(
        opcode,
        "abs"
            | "add"
            | "and"
            | "bitcast-convert"
            | "ceil"
            | "clamp"
            | "compare"
            | "complex"
            | "convert"
            | "count-leading-zeros"
            | "divide"
            | "floor"
            | "imag"
            | "is-finite"
            | "maximum"
            | "minimum"
            | "multiply"
            | "negate"
            | "not"
            | "or"
            | "popcnt"
            | "real"
            | "reduce-precision"
            | "remainder"
            | "round-nearest-afz"
            | "round-nearest-even"
            | "select"
            | "shift-left"
            | "shift-right-arithmetic"
            | "shift-right-logical"
            | "sign"
            | "stochastic-convert"
            | "subtract"
            | "xor"
    )
}

/// Two for each pair of an element of the input and one of the kernel that meet; those that meet padding or a hole of
/// a dilated input do not count.
fn convolution(instruction: &Instruction, input: Option<&Shape>, kernel: Option<&Shape>) -> f64 {
    let Some(numbers) = &instruction.convolution else { return 0.0 };
    let output = instruction.shape.as_ref();
    let windows = instruction.window.iter().flat_map(|window| &window.dimensions).enumerate();
    let meetings: f64 = windows
        .map(|(i, window)| {
            let size =
                |shape: Option<&Shape>, axes: &[i64]| axes.get(i).map_or(0.0, |&axis| dimension(shape, axis));
            let (stride, dilation) = (window.stride.max(1), window.base_dilation.max(1));
            let input = size(input, &numbers.input_spatial) as i64;
            let output = size(output, &numbers.output_spatial) as i64;
            let kernel = size(kernel, &numbers.kernel_spatial) as i64;
            let meets = |k: i64| {
                let start = k.saturating_mul(window.window_dilation).saturating_sub(window.padding_low);
                multiples(start, stride, output, dilation, input)
            };
            (0..kernel).map(meets).sum::<i64>() as f64
        })
        .product();
    let groups = |count: i64| count.max(1) as f64;
    let features =
        (dimension(input, numbers.input_feature) / groups(instruction.feature_group_count)).floor();
    let batch = (dimension(input, numbers.input_batch) / groups(instruction.batch_group_count)).floor();
    2.0 * features * dimension(output, numbers.output_feature) * batch * meetings
}

/// How many of the `count` numbers `start`, `start + stride`, … are `dilation * i` for an `i` in `0..limit`.
fn multiples(start: i64, stride: i64, count: i64, dilation: i64, limit: i64) -> i64 {
    let (start, stride, dilation) = (i128::from(start), i128::from(stride), i128::from(dilation));
    // The positions whose numbers are in `0..dilation * limit`.
    let position = |number: i128| (number - start + stride - 1).div_euclid(stride);
    let from = position(0).max(0);
    let to = position(dilation * i128::from(limit)).min(i128::from(count));
    // Every so many positions the number is a multiple, if it ever is.
    let period = dilation / gcd(stride, dilation);
    match (from..to.min(from + period)).find(|p| (start + p * stride) % dilation == 0) {
        Some(first) => ((to - first - 1) / period + 1) as i64,
        None => 0,
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The elements of a window.
fn window(instruction: &Instruction) -> f64 {
    instruction.window.iter().flat_map(|window| &window.dimensions).map(|d| d.size.max(0) as f64).product()
}

/// The position of a scatter's first update, which comes after its inputs and the indices.
fn updates(scatter: &Instruction) -> usize {
    scatter.operand_ids.len().div_ceil(2)
}

/// The first array of a result that may be several.
fn first(shape: Option<&Shape>) -> Option<&Shape> {
    shape.and_then(|shape| if shape.element_type == TUPLE { shape.tuple_shapes.first() } else { Some(shape) })
}

fn elements(shape: Option<&Shape>) -> f64 {
    shape.map_or(0.0, |shape| shape.dimensions.iter().map(|&n| n.max(0) as f64).product())
}

fn dimension(shape: Option<&Shape>, axis: i64) -> f64 {
    let size = shape.zip(usize::try_from(axis).ok()).and_then(|(shape, axis)| shape.dimensions.get(axis));
    size.map_or(0.0, |&n| n.max(0) as f64)
}

/// The size of the last dimension.
fn last(shape: Option<&Shape>) -> f64 {
    shape.map_or(0.0, |shape| dimension(Some(shape), shape.dimensions.len() as i64 - 1))
}

fn ceil_log2(n: f64) -> f64 {
    if n > 1.0 { f64::from(64 - (n as u64 - 1).leading_zeros()) } else { 0.0 }
}

/// The bytes of an array; of a tuple, those of its pointers.
fn size(shape: Option<&Shape>) -> f64 {
    let Some(shape) = shape else { return 0.0 };
    if shape.element_type == TUPLE {
        return POINTER * shape.tuple_shapes.len() as f64;
    }
    let packed = shape.layout.as_ref().map_or(0, |layout| layout.element_size_in_bits);
    match packed {
        1.. => (elements(Some(shape)) * packed as f64 / 8.0).ceil(),
        _ => elements(Some(shape)) * item(shape.element_type),
    }
}

/// The bytes of all arrays of a shape.
fn leaves(shape: Option<&Shape>) -> f64 {
    match shape {
        Some(shape) if shape.element_type == TUPLE => {
            shape.tuple_shapes.iter().map(|s| leaves(Some(s))).sum()
        }
        shape => size(shape),
    }
}

/// The bytes of an element of an `xla.PrimitiveType`. What has less than eight bits takes a byte where it is not packed.
fn item(primitive: i32) -> f64 {
    match primitive {
        0 | 17 => 0.0, // invalid, token
        3 | 7 | 10 | 16 => 2.0,
        4 | 8 | 11 => 4.0,
        5 | 9 | 12 | 15 => 8.0,
        14 => POINTER, // opaque
        18 => 16.0,
        _ => 1.0,
    }
}
