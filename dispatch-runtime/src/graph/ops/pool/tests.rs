use super::*;
use crate::Aval;
use crate::graph::Graph;
use crate::program::Source;

#[test]
fn a_reduction_of_windows_is_printed_with_all_its_numbers() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::I32, [2, 8, 9]));
    let window = Window::new([-1, 1], [3, 2]).strides([2, 1]).dilation([1, 4]).padding([(1, 0), (0, 2)]);
    let program = graph.program(x.reduce_window(1, &window, |a, b| a * b)).unwrap();
    let Source::StableHlo(text) = program.source() else { unreachable!() };
    let lines: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
    assert_eq!(
        lines[..5],
        [
            "%0 = stablehlo.constant dense<1> : tensor<i32>",
            "%1 = \"stablehlo.reduce_window\"(%x, %0) <{window_dimensions = array<i64: 1, 2, 3>, \
             window_strides = array<i64: 1, 1, 2>, window_dilations = array<i64: 1, 4, 1>, \
             padding = dense<[[0, 0], [0, 2], [1, 0]]> : tensor<3x2xi64>}> ({",
            "^bb0(%2: tensor<i32>, %3: tensor<i32>):",
            "%4 = stablehlo.multiply %2, %3 : tensor<i32>",
            "stablehlo.return %4 : tensor<i32>",
        ]
    );
    assert_eq!(lines[5], "}) : (tensor<2x8x9xi32>, tensor<i32>) -> tensor<2x6x4xi32>");
}

#[test]
fn a_wrong_window_says_why() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 6]));
    let z = graph.input("z", &Aval::new(DType::C64, [2, 6]));
    let i = graph.input("i", &Aval::new(DType::I32, [2, 6]));
    let bool = Value::ones(DType::Bool, [3]);
    let window = || Window::new([1], [2]);
    let first = |a: Value, _: Value| a;
    for (value, wanted) in [
        (
            z.max_pool(&window()),
            "`max_pool(z: c64[2,6])`: it takes bool, integers or floats, not c64; `convert` the value",
        ),
        (
            bool.sum_pool(&Window::new([0], [1])),
            "`sum_pool(bool[3])`: it takes integers, floats or complex numbers, not bool; `convert` the value",
        ),
        (
            i.avg_pool(&window()),
            "`avg_pool(i: i32[2,6])`: it takes floats or complex numbers, not i32; `convert` the value",
        ),
        (
            x.min_pool(&Window::new([2], [2])),
            "`min_pool(x: f32[2,6])`: there is no axis 2 among 2 dimensions",
        ),
        (x.min_pool(&Window::new([1, -1], [2, 2])), "`min_pool(x: f32[2,6])`: axis -1 is named twice"),
        (
            x.sum_pool(&Window::new([1], [2, 2])),
            "`sum_pool(x: f32[2,6])`: sizes [2,2] for 1 axis of the window",
        ),
        (x.avg_pool(&window().strides([])), "`avg_pool(x: f32[2,6])`: strides [] for 1 axis of the window"),
        (
            x.max_pool(&window().strides([0])),
            "`max_pool(x: f32[2,6])`: the stride of axis 1 is 0; it has to be at least 1",
        ),
        (
            x.max_pool(&Window::new([0, 1], [2, 0])),
            "`max_pool(x: f32[2,6])`: the window of axis 1 is 0; it has to be at least 1",
        ),
        (
            x.avg_pool(&window().padding([(-7, 0)])),
            "`avg_pool(x: f32[2,6])`: the padding of axis 1 takes away more than there is",
        ),
        (
            x.avg_pool(&window().padding([(i64::MAX, 0)])),
            "`avg_pool(x: f32[2,6])`: the padding of axis 1 is too large",
        ),
        (
            x.max_pool(&window().padding([(1 << 62, 0)])),
            "`max_pool(x: f32[2,6])`: no array of f32 has the shape [2,4611686018427387909]",
        ),
        (
            x.avg_pool(&window().padding([(1 << 62, 0)])),
            "`avg_pool(x: f32[2,6])`: no array of f32 has the shape [2,4611686018427387909]",
        ),
        (
            x.reduce_window(&i, &window(), first),
            "`reduce_window(x: f32[2,6], i: i32[2,6])`: f32 and i32 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I32)`",
        ),
        (
            x.reduce_window(&x, &window(), first),
            "`reduce_window(x: f32[2,6], x: f32[2,6])`: it starts from a scalar, not from x: f32[2,6]",
        ),
        (
            x.reduce_window(0.0, &window(), |a, _| a.convert(DType::F64)),
            "`reduce_window(x: f32[2,6], 0.0)`: the closure gives f64[] instead of f32[]",
        ),
        (
            x.reduce_window(0.0, &window(), |a, b| a.add(b.convert(DType::F64))),
            "`add(f32[], f64[])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`",
        ),
    ] {
        let error = value.check().unwrap_err().to_string();
        let (reason, line) = error.rsplit_once(", at ").unwrap();
        assert!(line.starts_with("dispatch-runtime/src/graph/ops/pool/tests.rs:"), "{line}");
        assert_eq!(reason, wanted);
    }
    let outside = x.reduce_window(0.0, &window(), |a, _| a + x.reshape([12]).slice_axis(0, 0, 1).reshape([]));
    assert!(
        outside
            .check()
            .unwrap_err()
            .to_string()
            .starts_with("`reduce_window(x: f32[2,6], 0.0)`: the closure ")
    );
}
