//! Families whose arguments or results are structures.

use dispatch_runtime::prelude::*;

/// Weights of a layer.
#[derive(InputTree)]
pub(crate) struct Layer<T> {
    #[dynamic(dtype = [f32, f64], shape = [m, n])]
    w: T,
    #[dynamic(dtype = dtype(w), shape = [n])]
    b: T,
}

/// A net of one layer and what else there is.
#[derive(InputTree)]
pub(crate) struct Net<T> {
    #[dynamic]
    layer: Layer<T>,
    #[dynamic(dtype = f32, shape = [])]
    scales: Vec<T>,
    #[dynamic(dtype = f32, shape = [_])]
    pair: [T; 2],
}

/// What comes of a step.
#[derive(OutputTree)]
pub(crate) struct Steps<T> {
    coef: T,
    trace: Trace<T>,
    r#type: T,
}

/// On the way.
#[derive(OutputTree)]
pub(crate) struct Trace<T> {
    all: [T; 2],
}

/// Sums of the parts of a net, in one array.
#[dispatch_family(r_export)]
pub(crate) fn parts_of(
    cx: &CompileCx,
    #[dynamic] net: Net<Value>,
    #[dynamic(dtype = f32, shape = [])] x: Value,
) -> Result<Program> {
    let parts = [net.layer.w.sum(..), net.layer.b.sum(..)].map(|part| part.convert(DType::F32));
    let scales = net.scales.iter().fold(x, |sum, scale| sum + scale);
    let pair = net.pair.iter().map(|part| part.sum(..));
    let all: Vec<Value> =
        parts.into_iter().chain([scales]).chain(pair).map(|part| part.reshape([1])).collect();
    cx.program(dispatch_runtime::graph::concatenate(&all, 0))
}

/// The sum of a list of vectors, and of two more.
#[dispatch_family(r_export)]
pub(crate) fn sum_list(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n])] xs: Vec<Value>,
    #[dynamic(dtype = dtype(xs), shape = [n])] pair: [Value; 2],
) -> Result<Program> {
    let [first, second] = pair;
    cx.program(xs.into_iter().fold(first + second, |sum, x| sum + x))
}

/// A struct with a struct, an array of arrays, and a name that Rust reserves.
#[dispatch_family(r_export)]
pub(crate) fn take_step(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
) -> Result<Program<Steps<Array>>> {
    let all = [&x + 1, &x + 2];
    cx.program(Steps { coef: &x * 1, trace: Trace { all }, r#type: x.sum(..) })
}

/// A tuple with a tuple.
#[dispatch_family(r_export)]
pub(crate) fn twice(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
) -> Result<Program<(Array, (Array,))>> {
    cx.program((&x + 1, (x.sum(..),)))
}

/// The sum of many.
#[dispatch_family(r_export)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn many(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] a1: Value,
    #[dynamic(dtype = f32, shape = [n])] a2: Value,
    #[dynamic(dtype = f32, shape = [n])] a3: Value,
    #[dynamic(dtype = f32, shape = [n])] a4: Value,
    #[dynamic(dtype = f32, shape = [n])] a5: Value,
    #[dynamic(dtype = f32, shape = [n])] a6: Value,
    #[dynamic(dtype = f32, shape = [n])] a7: Value,
    #[dynamic(dtype = f32, shape = [n])] a8: Value,
    #[dynamic(dtype = f32, shape = [n])] a9: Value,
    #[dynamic(dtype = f32, shape = [n])] a10: Value,
    #[dynamic(dtype = f32, shape = [n])] a11: Value,
    #[dynamic(dtype = f32, shape = [n])] a12: Value,
    #[dynamic(dtype = f32, shape = [n])] a13: Value,
    #[dynamic(dtype = f32, shape = [n])] a14: Value,
    #[dynamic(dtype = f32, shape = [n])] a15: Value,
    #[dynamic(dtype = f32, shape = [n])] a16: Value,
    #[dynamic(dtype = f32, shape = [n])] a17: Value,
    #[dynamic(dtype = f32, shape = [n])] a18: Value,
    #[dynamic(dtype = f32, shape = [n])] a19: Value,
    #[dynamic(dtype = f32, shape = [n])] a20: Value,
    #[dynamic(dtype = f32, shape = [n])] a21: Value,
    #[dynamic(dtype = f32, shape = [n])] a22: Value,
    #[dynamic(dtype = f32, shape = [n])] a23: Value,
    #[dynamic(dtype = f32, shape = [n])] a24: Value,
    #[dynamic(dtype = f32, shape = [n])] a25: Value,
    #[dynamic(dtype = f32, shape = [n])] a26: Value,
    #[dynamic(dtype = f32, shape = [n])] a27: Value,
    #[dynamic(dtype = f32, shape = [n])] a28: Value,
    #[dynamic(dtype = f32, shape = [n])] a29: Value,
    #[dynamic(dtype = f32, shape = [n])] a30: Value,
    #[dynamic(dtype = f32, shape = [n])] a31: Value,
    #[dynamic(dtype = f32, shape = [n])] a32: Value,
    #[dynamic(dtype = f32, shape = [n])] a33: Value,
    #[dynamic(dtype = f32, shape = [n])] a34: Value,
    #[dynamic(dtype = f32, shape = [n])] a35: Value,
    #[dynamic(dtype = f32, shape = [n])] a36: Value,
    #[dynamic(dtype = f32, shape = [n])] a37: Value,
    #[dynamic(dtype = f32, shape = [n])] a38: Value,
    #[dynamic(dtype = f32, shape = [n])] a39: Value,
    #[dynamic(dtype = f32, shape = [n])] a40: Value,
    #[dynamic(dtype = f32, shape = [n])] a41: Value,
    #[dynamic(dtype = f32, shape = [n])] a42: Value,
    #[dynamic(dtype = f32, shape = [n])] a43: Value,
    #[dynamic(dtype = f32, shape = [n])] a44: Value,
    #[dynamic(dtype = f32, shape = [n])] a45: Value,
    #[dynamic(dtype = f32, shape = [n])] a46: Value,
    #[dynamic(dtype = f32, shape = [n])] a47: Value,
    #[dynamic(dtype = f32, shape = [n])] a48: Value,
    #[dynamic(dtype = f32, shape = [n])] a49: Value,
    #[dynamic(dtype = f32, shape = [n])] a50: Value,
    #[dynamic(dtype = f32, shape = [n])] a51: Value,
    #[dynamic(dtype = f32, shape = [n])] a52: Value,
    #[dynamic(dtype = f32, shape = [n])] a53: Value,
    #[dynamic(dtype = f32, shape = [n])] a54: Value,
    #[dynamic(dtype = f32, shape = [n])] a55: Value,
    #[dynamic(dtype = f32, shape = [n])] a56: Value,
    #[dynamic(dtype = f32, shape = [n])] a57: Value,
    #[dynamic(dtype = f32, shape = [n])] a58: Value,
    #[dynamic(dtype = f32, shape = [n])] a59: Value,
    #[dynamic(dtype = f32, shape = [n])] a60: Value,
    #[dynamic(dtype = f32, shape = [n])] a61: Value,
    #[dynamic(dtype = f32, shape = [n])] a62: Value,
    #[dynamic(dtype = f32, shape = [n])] a63: Value,
    #[dynamic(dtype = f32, shape = [n])] a64: Value,
) -> Result<Program> {
    let all = [
        a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22,
        a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42,
        a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62,
        a63, a64,
    ];
    cx.program(all.into_iter().reduce(|sum, x| sum + x).expect("there are some"))
}
