// The number of results is in the types, so a vector is none.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] xs: Vec<Value>,
) -> Result<Program> {
    cx.program(xs)
}

fn main() {}
