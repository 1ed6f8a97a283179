// A structure of results is an output tree.
use dispatch_runtime::prelude::*;

struct Fit<T> {
    coef: T,
}

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] x: Value,
) -> Result<Program> {
    cx.program(Fit { coef: x })
}

fn main() {}
