//! Functions that programs call.

use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::graph::custom_call;
use dispatch_runtime::prelude::*;

/// `out[i] = scale * b[i % m] + c[i]`
#[ffi_handler(target = "families_rotate_add")]
pub(crate) fn rotate_add(
    #[arg(shape = [m])] b: Buffer<f32>,
    #[arg(shape = [n])] c: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[attr(default = 1.0)] scale: f32,
) -> ffi::Result<()> {
    if m == 0 {
        return Err(ffi::Error::invalid_argument("`b` is empty"));
    }
    for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
            *o = scale * b + c;
        }
    }
    Ok(())
}

/// `scale * b + c`, where `b` is repeated as often as it takes: a Rust function in the middle of a program.
#[dispatch_family(r_export)]
pub(crate) fn rotated(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [_])] b: Value,
    #[dynamic(dtype = f32, shape = [_])] c: Value,
    #[static_arg(default = 1)] scale: i32,
) -> Result<Program> {
    let call = custom_call(&ROTATE_ADD).attribute("scale", scale);
    let sum = cx.call(call, &[&b, &c], c.aval());
    cx.program(sum)
}

/// The eigenvalues of a symmetric matrix, which it prints too: by the targets of pjrtdispatch.
#[dispatch_family(r_export)]
pub(crate) fn spectrum(#[dynamic(dtype = [f32, f64], shape = [n, n])] a: Aval) -> Result<Program> {
    let element = a.dtype().mlir();
    let (matrix, values) = (format!("tensor<{n}x{n}x{element}>"), format!("tensor<{n}x{element}>"));
    Program::stablehlo(format!(
        "func.func @main(%a: {matrix}) -> {values} {{
          %r:2 = stablehlo.custom_call @eigh(%a) {{
            api_version = 4 : i32, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
            result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]
          }} : ({matrix}) -> ({matrix}, {values})
          stablehlo.custom_call @print_tensor(%r#1) {{
            api_version = 4 : i32, has_side_effect = true, backend_config = {{print_header = \"spectrum\"}}
          }} : ({values}) -> ()
          return %r#1 : {values}
        }}"
    ))
}

/// What a function under this name makes of it, which somebody else has registered.
#[dispatch_family(r_export)]
pub(crate) fn elsewhere(
    #[dynamic(dtype = f32, shape = [n])] x: Aval,
    #[static_arg] name: String,
) -> Result<Program> {
    let vector = format!("tensor<{n}x{}>", x.dtype().mlir());
    Program::stablehlo(format!(
        "func.func @main(%x: {vector}) -> {vector} {{
          %y = stablehlo.custom_call @{name}(%x) {{api_version = 4 : i32, backend_config = {{}}}} : ({vector}) -> {vector}
          return %y : {vector}
        }}"
    ))
}
