// A result is a graph value, not an abstract one.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] x: Aval,
) -> Result<Program> {
    cx.program(x)
}

fn main() {}
