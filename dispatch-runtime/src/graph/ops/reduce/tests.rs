use super::super::super::{Graph, Value, keep};
use crate::program::Source;
use crate::{Aval, DType};

/// The lines of the program that computes a value, without those around them.
pub(in super::super) fn printed(graph: &Graph, value: &Value) -> Vec<String> {
    let program = graph.program(value).unwrap();
    let Source::StableHlo(text) = program.source() else { unreachable!("the builder writes text") };
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    lines[2..lines.len() - 3].to_vec()
}

/// What is wrong with a value, without the line.
pub(in super::super) fn refused(value: &Value) -> String {
    let text = value.check().unwrap_err().to_string();
    text.rsplit_once(", at ").expect("an error says where").0.to_owned()
}

fn input(graph: &Graph, dtype: DType, shape: &[i64]) -> Value {
    graph.input("x", &Aval::new(dtype, shape))
}

#[test]
fn a_reduction_names_its_operation_and_its_axes() {
    let graph = Graph::new();
    let x = input(&graph, DType::F32, &[2, 3, 4]);
    assert_eq!(
        printed(&graph, &x.max(keep([-1, 0]))),
        [
            "%0 = stablehlo.constant dense<0xFF800000> : tensor<f32>",
            "%1 = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>",
            "%2 = stablehlo.reshape %1 : (tensor<3xf32>) -> tensor<1x3x1xf32>",
        ]
    );
    assert_eq!(printed(&graph, &x.sum([])), [""; 0]);
}

#[test]
fn the_closure_of_a_reduction_is_a_block_that_shares_nothing() {
    let graph = Graph::new();
    let x = input(&graph, DType::F32, &[2]);
    let two = Value::scalar(2f32);
    let sum = x.reduce(0, 0, |a, b| a + b.maximum(Value::scalar(2f32).sqrt())) + two.sqrt();
    assert_eq!(
        printed(&graph, &sum),
        [
            "%0 = stablehlo.constant dense<0.0> : tensor<f32>",
            "%1 = \"stablehlo.reduce\"(%x, %0) <{dimensions = array<i64: 0>}> ({",
            "^bb0(%2: tensor<f32>, %3: tensor<f32>):",
            "%4 = stablehlo.constant dense<2.0> : tensor<f32>",
            "%5 = stablehlo.sqrt %4 : tensor<f32>",
            "%6 = stablehlo.maximum %3, %5 : tensor<f32>",
            "%7 = stablehlo.add %2, %6 : tensor<f32>",
            "stablehlo.return %7 : tensor<f32>",
            "}) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>",
            "%8 = stablehlo.constant dense<2.0> : tensor<f32>",
            "%9 = stablehlo.sqrt %8 : tensor<f32>",
            "%10 = stablehlo.add %1, %9 : tensor<f32>",
        ]
    );
}

#[test]
fn wrong_reductions_are_refused() {
    let graph = Graph::new();
    let x = input(&graph, DType::F32, &[2, 3]);
    let none = Value::zeros(DType::I8, [0]);
    for (wrong, expected) in [
        (x.sum(2), "`sum(x: f32[2,3])`: there is no axis 2 among 2 dimensions"),
        (x.mean([0, -2]), "`mean(x: f32[2,3])`: axis -2 is named twice"),
        (
            x.lt(0).sum(..),
            "`sum(bool[2,3])`: it takes integers, floats or complex numbers, not bool; `convert` the value",
        ),
        (x.all(0), "`all(x: f32[2,3])`: it takes bool, not f32; `convert` the value"),
        (none.mean(..), "`mean(i8[0])`: it takes floats or complex numbers, not i8; `convert` the value"),
        (none.argmax(0), "`argmax(i8[0])`: axis 0 has no elements"),
        (none.logsumexp(0), "`logsumexp(i8[0])`: it takes floats, not i8; `convert` the value"),
        (x.softmax(7), "`softmax(x: f32[2,3])`: there is no axis 7 among 2 dimensions"),
        (x.cumsum(-3), "`cumsum(x: f32[2,3])`: there is no axis -3 among 2 dimensions"),
        (x.reduce(0.5, 5, |a, _| a), "`reduce(x: f32[2,3], 0.5)`: there is no axis 5 among 2 dimensions"),
        (
            x.reduce(&none, 0, |a, _| a),
            "`reduce(x: f32[2,3], i8[0])`: f32 and i8 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I8)`",
        ),
        (
            x.reduce(x.sum(0), 0, |a, _| a),
            "`reduce(x: f32[2,3], f32[3])`: it starts from a scalar, not from f32[3]",
        ),
        (
            x.reduce(0, 0, |a, b| a.lt(b)),
            "`reduce(x: f32[2,3], 0)`: the closure gives bool[] instead of f32[]",
        ),
        (
            x.reduce(0, 0, |a, _| a + x.sum(..)),
            "`reduce(x: f32[2,3], 0)`: the closure uses x: f32[2,3] from outside; it may use its arguments and constants alone",
        ),
        // The closure's own operation is what is wrong.
        (
            x.reduce(0, 0, |a, b| a + b.convert(DType::I8)),
            "`add(f32[], i8[])`: f32 and i8 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I8)`",
        ),
    ] {
        assert_eq!(refused(&wrong), expected);
    }
}

#[test]
fn an_error_names_the_line_of_the_reduction() {
    let wrong = Value::zeros(DType::Bool, [2]).mean(0);
    let line = line!() - 1;
    let text = wrong.check().unwrap_err().to_string();
    assert!(text.contains(&format!("tests.rs:{line}:")), "{text}");
}
