// A nested input is an input tree.
use dispatch_runtime::prelude::*;

struct Params<T> {
    w: T,
}

#[dispatch_family]
fn f(#[dynamic] params: Params<Aval>) -> Result<Program> {
    Program::stablehlo(params.w.to_string())
}

fn main() {}
