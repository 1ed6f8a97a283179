//! Families and arguments whose names, places and conditions are odd, and still no trouble.

use dispatch_runtime::dispatch_family as family_attribute;
use dispatch_runtime::prelude::*;
use dispatch_runtime::DType;

mod closed {
    use super::*;

    /// The type can be named by its re-export alone; a module in between has a keyword for its name.
    #[family_attribute(r_export, r_name = "names.2")]
    pub fn names(cx: &CompileCx, #[dynamic(dtype = f64, shape = [n])] x: Value) -> Result<Program> {
        cx.program(x * n as f64)
    }
}
pub(crate) mod r#type {
    pub(crate) use super::closed::Names;
}

/// Arguments that have the names of other things, in Rust, in C and in R.
#[dispatch_family(r_export)]
#[allow(non_snake_case, clippy::too_many_arguments)]
pub(crate) fn names(
    context: &CompileCx,
    #[dynamic(dtype = f64, shape = [n])] args: Value,
    #[dynamic(dtype = f64, shape = [])] cx: Value,
    #[dynamic(dtype = f64, shape = [])] key: Value,
    #[dynamic(dtype = f64, shape = [])] self_: Value,
    #[dynamic(dtype = f64, shape = [])] dim: Value,
    #[dynamic(dtype = f64, shape = [])] T: Value,
    #[dynamic(dtype = f64, shape = [])] call: Value,
    #[dynamic(dtype = f64, shape = [])] family: Value,
    #[dynamic(dtype = f64, shape = [])] x: Value,
    #[dynamic(dtype = f64, shape = [])] r#type: Value,
    #[dynamic(dtype = f64, shape = [])] results: Value,
    #[dynamic(dtype = f64, shape = [])] PACKAGE: Value,
    #[static_arg(default = 1)] savvy: i64,
    #[static_arg(default = 2)] structure: i64,
    #[static_arg(default = true)] class: bool,
    #[static_arg(default = [1, 2])] c: [i64; 2],
    #[static_arg(default = Vec::new())] numeric: Vec<f64>,
    #[static_arg(default = DType::F32)] dtype: DType,
    #[static_arg(default = 4)] res: i64,
) -> Result<Program<(Array, Array)>> {
    let arrays = args + cx + key + self_ + dim + T + call + family + x + r#type + results + PACKAGE;
    let statics = savvy + structure + i64::from(class) + c[0] + c[1] + numeric.len() as i64 + res + n;
    context.program((arrays, Value::constant(&[statics as f64], []).convert(dtype)))
}

/// The name of a function that the generated code has, too.
#[dispatch_family(r_export)]
pub(crate) fn family(cx: &CompileCx) -> Result<Program> {
    let _ = cx;
    Program::stablehlo(
        "func.func @main() -> tensor<f64> { %0 = stablehlo.constant dense<7.0> : tensor<f64> return %0 : tensor<f64> }",
    )
}

/// Somewhere.
#[cfg(not(windows))]
#[dispatch_family(r_export)]
pub(crate) fn off_windows(cx: &CompileCx, #[dynamic(dtype = f64, shape = [])] x: Value) -> Result<Program> {
    cx.program(x)
}

/// Nowhere.
#[cfg(all(windows, not(windows)))]
#[dispatch_family(r_export)]
pub(crate) fn nowhere(cx: &CompileCx, #[dynamic(dtype = f64, shape = [])] x: Value) -> Result<Program> {
    cx.program(x)
}

/// As many arguments as R passes.
#[dispatch_family(r_export)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn most(
    cx: &CompileCx,
    #[dynamic(dtype = f64, shape = [])] x: Value,
    #[static_arg(default = 1)] a1: i64,
    #[static_arg(default = 2)] a2: i64,
    #[static_arg(default = 3)] a3: i64,
    #[static_arg(default = 4)] a4: i64,
    #[static_arg(default = 5)] a5: i64,
    #[static_arg(default = 6)] a6: i64,
    #[static_arg(default = 7)] a7: i64,
    #[static_arg(default = 8)] a8: i64,
    #[static_arg(default = 9)] a9: i64,
    #[static_arg(default = 10)] a10: i64,
    #[static_arg(default = 11)] a11: i64,
    #[static_arg(default = 12)] a12: i64,
    #[static_arg(default = 13)] a13: i64,
    #[static_arg(default = 14)] a14: i64,
    #[static_arg(default = 15)] a15: i64,
    #[static_arg(default = 16)] a16: i64,
    #[static_arg(default = 17)] a17: i64,
    #[static_arg(default = 18)] a18: i64,
    #[static_arg(default = 19)] a19: i64,
    #[static_arg(default = 20)] a20: i64,
    #[static_arg(default = 21)] a21: i64,
    #[static_arg(default = 22)] a22: i64,
    #[static_arg(default = 23)] a23: i64,
    #[static_arg(default = 24)] a24: i64,
    #[static_arg(default = 25)] a25: i64,
    #[static_arg(default = 26)] a26: i64,
    #[static_arg(default = 27)] a27: i64,
    #[static_arg(default = 28)] a28: i64,
    #[static_arg(default = 29)] a29: i64,
    #[static_arg(default = 30)] a30: i64,
    #[static_arg(default = 31)] a31: i64,
    #[static_arg(default = 32)] a32: i64,
    #[static_arg(default = 33)] a33: i64,
    #[static_arg(default = 34)] a34: i64,
    #[static_arg(default = 35)] a35: i64,
    #[static_arg(default = 36)] a36: i64,
    #[static_arg(default = 37)] a37: i64,
    #[static_arg(default = 38)] a38: i64,
    #[static_arg(default = 39)] a39: i64,
    #[static_arg(default = 40)] a40: i64,
    #[static_arg(default = 41)] a41: i64,
    #[static_arg(default = 42)] a42: i64,
    #[static_arg(default = 43)] a43: i64,
    #[static_arg(default = 44)] a44: i64,
    #[static_arg(default = 45)] a45: i64,
    #[static_arg(default = 46)] a46: i64,
    #[static_arg(default = 47)] a47: i64,
    #[static_arg(default = 48)] a48: i64,
    #[static_arg(default = 49)] a49: i64,
    #[static_arg(default = 50)] a50: i64,
    #[static_arg(default = 51)] a51: i64,
    #[static_arg(default = 52)] a52: i64,
    #[static_arg(default = 53)] a53: i64,
    #[static_arg(default = 54)] a54: i64,
    #[static_arg(default = 55)] a55: i64,
    #[static_arg(default = 56)] a56: i64,
    #[static_arg(default = 57)] a57: i64,
    #[static_arg(default = 58)] a58: i64,
    #[static_arg(default = 59)] a59: i64,
    #[static_arg(default = 60)] a60: i64,
    #[static_arg(default = 61)] a61: i64,
    #[static_arg(default = 62)] a62: i64,
    #[static_arg(default = 63)] a63: i64,
    #[static_arg(default = 64)] a64: i64,
) -> Result<Program> {
    cx.program(
        [
            a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,
            a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40,
            a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59,
            a60, a61, a62, a63, a64,
        ]
        .into_iter()
        .fold(x, |sum, n| sum + n as f64),
    )
}
