// A family that computes with the values of mistaken structs gives no errors of its own.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f33, shape = [m])]
    weights: T,
}

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    path: Vec<T>,
}

#[dispatch_family]
fn f(cx: &CompileCx, #[dynamic] params: Params<Value>) -> Result<Program<Fit<Array>>> {
    let coef = params.weights;
    cx.program(Fit { path: vec![coef.exp()], coef })
}

fn main() {}
