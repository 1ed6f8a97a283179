//! What modules cost: the numbers are those of XLA's own analysis, but for the differences that `cost.rs` names.

use super::super::cost::{self, Costs};
use super::super::proto::*;
use super::{F32, array, computation, instruction, module, tuple};
use crate::engine::pjrt::proto::Shape;

const PRED: i32 = 1;
const S32: i32 = 4;
const C64: i32 = 15;

/// An array of the type that a test is about.
fn f32s(sizes: &[i64]) -> Shape {
    array(F32, sizes)
}

/// An instruction of this shape.
fn op(id: i64, opcode: &str, shape: Shape, operands: &[i64]) -> Instruction {
    Instruction { shape: Some(shape), ..instruction(id, "x", opcode, operands) }
}

/// A computation with parameters of these shapes, with the ids from 1 on, and these instructions after them.
fn with_parameters(id: i64, parameters: &[Shape], instructions: Vec<Instruction>) -> Computation {
    let parameters = (1..).zip(parameters).map(|(i, shape)| op(i, "parameter", shape.clone(), &[]));
    computation(id, "f", parameters.chain(instructions).collect())
}

fn costs(called: Vec<Computation>, parameters: &[Shape], instructions: Vec<Instruction>) -> (f64, f64) {
    let entry = with_parameters(100, parameters, instructions);
    let Costs { flops, bytes } = cost::of(&module(called.into_iter().chain([entry]).collect()));
    (flops, bytes)
}

/// Flops and bytes of one instruction with these operands.
fn one(opcode: &str, shape: Shape, operands: &[Shape], change: impl FnOnce(&mut Instruction)) -> (f64, f64) {
    let ids: Vec<i64> = (1..=operands.len() as i64).collect();
    let mut instruction = op(50, opcode, shape, &ids);
    change(&mut instruction);
    // What it may call: an addition, a series of operations of which two count, and a comparison.
    let scalars = [f32s(&[]), f32s(&[])];
    let add = with_parameters(1, &scalars, vec![op(3, "add", f32s(&[]), &[1, 2])]);
    let series = vec![
        op(3, "multiply", f32s(&[]), &[1, 2]),
        op(4, "tanh", f32s(&[]), &[3]),
        op(5, "add", f32s(&[]), &[4, 2]),
    ];
    let series = with_parameters(2, &scalars, series);
    let compare = with_parameters(3, &scalars, vec![op(3, "compare", array(PRED, &[]), &[1, 2])]);
    costs(vec![add, series, compare], operands, vec![instruction])
}

/// Flops and bytes of a fusion of these instructions; `shape` is that of its result.
fn fused(parameters: &[Shape], shape: Shape, instructions: Vec<Instruction>) -> (f64, f64) {
    let ids: Vec<i64> = (1..=parameters.len() as i64).collect();
    let mut fusion = op(50, "fusion", shape, &ids);
    fusion.called_computation_ids = vec![1];
    costs(vec![with_parameters(1, parameters, instructions)], parameters, vec![fusion])
}

#[test]
fn operations_on_elements_cost_one_each_and_series_none() {
    let x = f32s(&[3, 5]);
    let of = |opcode: &str, n: usize| one(opcode, x.clone(), &vec![x.clone(); n], |_| ());
    for opcode in ["abs", "negate", "floor", "sign", "round-nearest-even"] {
        assert_eq!(of(opcode, 1), (15.0, 120.0), "{opcode}");
    }
    for opcode in ["add", "subtract", "multiply", "divide", "remainder", "maximum"] {
        assert_eq!(of(opcode, 2), (15.0, 180.0), "{opcode}");
    }
    for opcode in ["exponential", "log", "sqrt", "rsqrt", "tanh", "logistic", "sine", "erf"] {
        assert_eq!(of(opcode, 1), (0.0, 120.0), "{opcode}");
    }
    assert_eq!(of("power", 2), (0.0, 180.0));
    assert_eq!(of("clamp", 3), (15.0, 240.0));
    assert_eq!(one("compare", array(PRED, &[3, 5]), &[x.clone(), x.clone()], |_| ()), (15.0, 135.0));
    assert_eq!(one("real", x.clone(), &[array(C64, &[3, 5])], |_| ()), (15.0, 180.0));
}

#[test]
fn what_moves_elements_costs_bytes_alone() {
    let (x, part, index) = (f32s(&[3, 5]), f32s(&[2, 5]), array(S32, &[]));
    let of = |opcode: &str, shape: &Shape, operands: &[&Shape]| {
        let operands: Vec<Shape> = operands.iter().map(|&shape| shape.clone()).collect();
        let (flops, bytes) = one(opcode, shape.clone(), &operands, |_| ());
        assert_eq!(flops, 0.0, "{opcode}");
        bytes
    };
    for opcode in ["copy", "reverse", "transpose", "reshape"] {
        assert_eq!(of(opcode, &x, &[&x]), 120.0, "{opcode}");
    }
    for opcode in ["bitcast", "get-tuple-element", "custom-call", "constant"] {
        assert_eq!(of(opcode, &x, &[&x]), 0.0, "{opcode}");
    }
    assert_eq!(of("iota", &x, &[]), 60.0);
    assert_eq!(of("broadcast", &x, &[&f32s(&[])]), 64.0);
    assert_eq!(of("concatenate", &f32s(&[6, 5]), &[&x, &x]), 240.0);
    assert_eq!(of("tuple", &tuple(vec![x.clone(); 3]), &[&x, &x, &x]), 24.0);
    // The parts that they touch.
    assert_eq!(of("slice", &part, &[&x]), 80.0);
    assert_eq!(of("dynamic-slice", &part, &[&x, &index, &index]), 84.0);
    assert_eq!(of("dynamic-update-slice", &x, &[&x, &part, &index, &index]), 84.0);
    assert_eq!(of("gather", &part, &[&x, &array(S32, &[2, 1])]), 88.0);
    // Results of several arrays count whole, arguments of several as pointers.
    let pair = tuple(vec![f32s(&[3, 2]), array(S32, &[3, 2])]);
    assert_eq!(of("topk", &pair, &[&x]), 108.0);
    assert_eq!(of("opt-barrier", &tuple(vec![x.clone(); 2]), &[&tuple(vec![x.clone(); 2])]), 136.0);
    // Half a byte each where they are packed.
    let mut packed = array(21, &[3, 5]);
    assert_eq!(of("reverse", &packed, &[&packed]), 30.0);
    packed.layout.as_mut().unwrap().element_size_in_bits = 4;
    assert_eq!(of("reverse", &packed, &[&packed]), 16.0);
}

#[test]
fn a_dot_costs_two_a_term() {
    let of = |lhs: &Shape, rhs: &Shape, result: &Shape, numbers: DotDimensions| {
        one("dot", result.clone(), &[lhs.clone(), rhs.clone()], |i| i.dot = Some(numbers))
    };
    let plain = DotDimensions { lhs_contracting: vec![1], rhs_contracting: vec![0], ..Default::default() };
    assert_eq!(of(&f32s(&[3, 5]), &f32s(&[5, 7]), &f32s(&[3, 7]), plain.clone()), (210.0, 284.0));
    assert_eq!(of(&f32s(&[3, 0]), &f32s(&[0, 7]), &f32s(&[3, 7]), plain.clone()), (0.0, 84.0));
    let complex = array(C64, &[5, 5]);
    assert_eq!(of(&complex, &complex, &complex, plain), (250.0, 600.0));
}

#[test]
fn a_convolution_costs_two_for_what_meets() {
    let dimension = |size, stride, pad: [i64; 2], base_dilation, window_dilation| WindowDimension {
        size,
        stride,
        padding_low: pad[0],
        padding_high: pad[1],
        base_dilation,
        window_dilation,
        ..Default::default()
    };
    let of = |image: &[i64], result: &[i64], groups: [i64; 2], dimensions: &[WindowDimension; 2]| {
        one("convolution", f32s(result), &[f32s(image), f32s(&[3, 2, 3, 4])], |i| {
            i.window = Some(Window { dimensions: dimensions.to_vec() });
            (i.feature_group_count, i.batch_group_count) = (groups[0], groups[1]);
            i.convolution = Some(ConvolutionDimensions {
                input_feature: 3,
                input_spatial: vec![1, 2],
                kernel_input_feature: 2,
                kernel_output_feature: 3,
                kernel_spatial: vec![0, 1],
                output_feature: 3,
                output_spatial: vec![1, 2],
                ..Default::default()
            });
        })
        .0
    };
    let (image, valid) = ([2, 9, 8, 3], [2, 7, 7, 4]);
    let plain = [dimension(3, 1, [0, 0], 1, 1), dimension(2, 1, [0, 0], 1, 1)];
    assert_eq!(of(&image, &valid, [1, 1], &plain), 14112.0);
    let same = [dimension(3, 1, [1, 1], 1, 1), dimension(2, 1, [0, 1], 1, 1)];
    assert_eq!(of(&image, &[2, 9, 8, 4], [1, 1], &same), 18000.0);
    let strided = [dimension(3, 2, [1, 1], 1, 1), dimension(2, 2, [0, 1], 1, 1)];
    assert_eq!(of(&image, &[2, 5, 4, 4], [1, 1], &strided), 4992.0);
    let cropped = [dimension(3, 1, [-2, -1], 1, 1), dimension(2, 1, [0, 0], 1, 1)];
    assert_eq!(of(&image, &[2, 4, 7, 4], [1, 1], &cropped), 8064.0);
    let dilated = [dimension(3, 2, [1, 1], 3, 1), dimension(2, 5, [0, 1], 2, 2)];
    assert_eq!(of(&[2, 4, 8, 3], &[2, 5, 3, 4], [1, 1], &dilated), 960.0);
    assert_eq!(of(&[2, 9, 8, 6], &valid, [2, 1], &plain), 14112.0);
    assert_eq!(of(&[4, 9, 8, 3], &valid, [1, 2], &plain), 14112.0);
    // Without windows it is a product of matrices.
    let matrices = one("convolution", f32s(&[2, 4]), &[f32s(&[2, 3]), f32s(&[3, 4])], |i| {
        let features = ConvolutionDimensions { input_feature: 1, output_feature: 1, ..Default::default() };
        i.convolution = Some(features);
    });
    assert_eq!(matrices, (48.0, 104.0));
}

#[test]
fn what_applies_a_computation_costs_it_as_often() {
    let (x, zero) = (f32s(&[3, 5]), f32s(&[]));
    let window = || {
        let dimension = |size| WindowDimension { size, ..Default::default() };
        Some(Window { dimensions: vec![dimension(2), dimension(3)] })
    };
    // 1 is an addition, 2 two operations and a `tanh`, 3 a comparison.
    let of = |opcode: &str, shape: &Shape, operands: &[&Shape], called: &[i64]| {
        let operands: Vec<Shape> = operands.iter().map(|&shape| shape.clone()).collect();
        one(opcode, shape.clone(), &operands, |i| {
            (i.called_computation_ids, i.window) = (called.to_vec(), window());
        })
    };
    let (row, windows) = (f32s(&[3]), f32s(&[2, 3]));
    assert_eq!(of("reduce", &row, &[&x, &zero], &[1]), (12.0, 76.0));
    assert_eq!(of("reduce", &row, &[&x, &zero], &[2]), (24.0, 76.0));
    let pair = tuple(vec![row.clone(), row.clone()]);
    assert_eq!(of("reduce", &pair, &[&x, &x, &zero, &zero], &[2]), (24.0, 152.0));
    assert_eq!(of("reduce", &row, &[&f32s(&[0, 3]), &zero], &[1]), (0.0, 16.0));
    assert_eq!(of("reduce-window", &windows, &[&x, &zero], &[2]), (60.0, 88.0));
    assert_eq!(of("map", &x, &[&x, &x], &[2]), (30.0, 180.0));
    assert_eq!(of("select-and-scatter", &x, &[&x, &windows, &zero], &[3, 2]), (42.0, 148.0));
    let (indices, updates) = (array(S32, &[2, 1]), f32s(&[2, 5]));
    assert_eq!(of("scatter", &x, &[&x, &indices, &updates], &[2]), (20.0, 128.0));
    let both = tuple(vec![x.clone(), x.clone()]);
    assert_eq!(of("scatter", &both, &[&x, &x, &indices, &updates, &updates], &[2]), (20.0, 248.0));
}

#[test]
fn algorithms_cost_what_xla_reckons() {
    let sort = |n: i64| one("sort", f32s(&[n]), &[f32s(&[n])], |_| ()).0;
    assert_eq!([0, 1, 2, 3, 5, 16, 17].map(sort), [0.0, 0.0, 2.0, 6.0, 15.0, 64.0, 85.0]);
    let rows = tuple(vec![f32s(&[3, 5]), f32s(&[3, 5])]);
    assert_eq!(one("sort", rows, &[f32s(&[3, 5]), f32s(&[3, 5])], |_| ()), (60.0, 240.0));

    let fft = |operand: Shape, result: Shape, lengths: &[i64]| {
        one("fft", result, &[operand], |i| i.fft_length = lengths.to_vec())
    };
    let waves = |n: i64| array(C64, &[4, n]);
    assert_eq!(fft(waves(8), waves(8), &[8]), (768.0, 512.0));
    assert_eq!(fft(waves(8), waves(8), &[4, 8]), (1536.0, 512.0));
    assert_eq!(fft(waves(12), waves(12), &[12]), (1152.0, 768.0));
    assert_eq!(fft(f32s(&[4, 8]), waves(5), &[8]), (768.0, 288.0));
    assert_eq!(fft(waves(5), f32s(&[4, 8]), &[8]), (480.0, 288.0));
    assert_eq!(fft(waves(1), waves(1), &[1]), (0.0, 64.0));

    let (matrices, columns) = (f32s(&[2, 7, 7]), f32s(&[2, 7, 3]));
    let solve = one("triangular-solve", columns.clone(), &[matrices.clone(), columns], |_| ());
    assert_eq!(solve, (588.0, 532.0));
    assert_eq!(one("cholesky", matrices.clone(), &[matrices], |_| ()), (228.0, 392.0));
}

#[test]
fn control_costs_a_loop_once_and_the_dearest_branch() {
    let x = f32s(&[3, 5]);
    let state = tuple(vec![array(S32, &[]), x.clone()]);
    let body = vec![
        op(2, "get-tuple-element", array(S32, &[]), &[1]),
        op(3, "constant", array(S32, &[]), &[]),
        op(4, "add", array(S32, &[]), &[2, 3]),
        op(5, "get-tuple-element", x.clone(), &[1]),
        op(6, "multiply", x.clone(), &[5, 5]),
        op(7, "tuple", state.clone(), &[4, 6]),
    ];
    let condition = vec![
        op(2, "get-tuple-element", array(S32, &[]), &[1]),
        op(3, "constant", array(S32, &[]), &[]),
        op(4, "compare", array(PRED, &[]), &[2, 3]),
    ];
    let called = vec![
        with_parameters(1, std::slice::from_ref(&state), body),
        with_parameters(2, std::slice::from_ref(&state), condition),
    ];
    let mut run = op(50, "while", state.clone(), &[1]);
    run.called_computation_ids = vec![1, 2];
    assert_eq!(costs(called, &[state], vec![run]), (17.0, 217.0));

    let dear = vec![op(2, "add", x.clone(), &[1, 1]), op(3, "multiply", x.clone(), &[2, 1])];
    let branches = vec![
        with_parameters(1, std::slice::from_ref(&x), dear),
        with_parameters(2, std::slice::from_ref(&x), vec![op(2, "reverse", x.clone(), &[1])]),
    ];
    let mut choice = op(50, "conditional", x.clone(), &[1, 2, 2]);
    choice.called_computation_ids = vec![2, 1];
    assert_eq!(costs(branches.clone(), &[array(S32, &[]), x.clone()], vec![choice]), (30.0, 360.0));
    let mut call = op(50, "call", x.clone(), &[1]);
    call.called_computation_ids = vec![1];
    assert_eq!(costs(branches, std::slice::from_ref(&x), vec![call]), (30.0, 360.0));
}

#[test]
fn a_fusion_touches_what_it_reads_and_writes() {
    let (x, row, index) = (f32s(&[3, 5]), f32s(&[1, 5]), array(S32, &[]));
    let only = std::slice::from_ref(&x);
    let product = vec![op(8, "add", x.clone(), &[1, 1]), op(9, "multiply", x.clone(), &[8, 1])];
    assert_eq!(fused(only, x.clone(), product.clone()), (30.0, 120.0));
    // An argument that is not used.
    assert_eq!(fused(&[x.clone(), x.clone()], x.clone(), product), (30.0, 120.0));
    // Constants: single numbers are free.
    let constant = |shape: &Shape| {
        vec![op(8, "constant", shape.clone(), &[]), op(9, "multiply", shape.clone(), &[8, 1])]
    };
    assert_eq!(fused(only, x.clone(), constant(&x)), (15.0, 180.0));
    assert_eq!(fused(&[f32s(&[1])], f32s(&[1]), constant(&f32s(&[1]))), (1.0, 8.0));
    // Parts of an argument, and the argument besides.
    let slice = |id: i64| op(id, "slice", row.clone(), &[1]);
    let rows = vec![slice(7), slice(8), op(9, "multiply", row.clone(), &[7, 8])];
    assert_eq!(fused(only, row.clone(), rows), (5.0, 60.0));
    let mixed = vec![
        slice(6),
        op(7, "reshape", f32s(&[5]), &[6]),
        op(8, "broadcast", x.clone(), &[7]),
        op(9, "multiply", x.clone(), &[8, 1]),
    ];
    assert_eq!(fused(only, x.clone(), mixed), (15.0, 140.0));
    let scalar = f32s(&[]);
    let twice = vec![
        op(7, "broadcast", x.clone(), &[1]),
        op(8, "broadcast", x.clone(), &[1]),
        op(9, "multiply", x.clone(), &[7, 8]),
    ];
    assert_eq!(fused(&[scalar], x.clone(), twice), (15.0, 68.0));
    let taken = vec![op(8, "constant", index.clone(), &[]), op(9, "dynamic-slice", row.clone(), &[1, 2, 8])];
    assert_eq!(fused(&[x.clone(), index.clone()], row.clone(), taken), (0.0, 44.0));
    // What is replaced in place, alone and beside another result.
    let parameters = [x.clone(), row.clone(), index];
    let replaced = op(8, "dynamic-update-slice", x.clone(), &[1, 2, 3, 3]);
    assert_eq!(fused(&parameters, x.clone(), vec![replaced.clone()]), (0.0, 44.0));
    let pair = tuple(vec![x.clone(), row.clone()]);
    let both = vec![replaced, op(9, "negate", row, &[2]), op(10, "tuple", pair.clone(), &[8, 9])];
    assert_eq!(fused(&parameters, pair, both), (5.0, 64.0));
    // The elements of an argument that is a tuple.
    let elements = vec![
        op(7, "get-tuple-element", x.clone(), &[1]),
        op(8, "get-tuple-element", x.clone(), &[1]),
        op(9, "add", x.clone(), &[7, 8]),
    ];
    assert_eq!(fused(&[tuple(vec![x.clone(); 2])], x, elements), (15.0, 180.0));
}

#[test]
fn modules_with_holes_cost_what_is_there() {
    assert_eq!(cost::of(&Module::default()), Costs::default());
    let x = f32s(&[3, 5]);
    let lost = |opcode: &str| {
        let mut instruction = op(50, opcode, x.clone(), &[77]);
        instruction.called_computation_ids = vec![77];
        costs(vec![], &[], vec![instruction])
    };
    for opcode in
        ["add", "dot", "convolution", "reduce", "scatter", "sort", "fft", "cholesky", "fusion", "while"]
    {
        let (flops, bytes) = lost(opcode);
        assert!((0.0..=30.0).contains(&flops) && (0.0..=60.0).contains(&bytes), "{opcode}: {flops}, {bytes}");
    }
    // A computation cannot cost itself.
    let mut itself = op(50, "call", x.clone(), &[]);
    itself.called_computation_ids = vec![100];
    assert_eq!(costs(vec![], &[], vec![itself]), (0.0, 0.0));
    let odd = [-1, i64::MAX];
    let (flops, bytes) = one("add", f32s(&odd), &[f32s(&odd), f32s(&[i64::MAX; 3])], |_| ());
    assert!(flops == 0.0 && bytes > 0.0);
}
