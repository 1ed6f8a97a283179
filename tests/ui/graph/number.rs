// A result is a graph value, in a struct as well.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
}

#[dispatch_family]
fn f(cx: &CompileCx) -> Result<Program<Fit<Array>>> {
    cx.program(Fit { coef: 1.0 })
}

fn main() {}
