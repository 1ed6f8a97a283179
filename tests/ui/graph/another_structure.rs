// What a body hands over has the structure that it declares: a tuple is not the struct.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    residuals: T,
}

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] x: Value,
) -> Result<Program<Fit<Array>>> {
    cx.program((&x, &x))
}

fn main() {}
