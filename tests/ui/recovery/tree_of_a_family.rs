// A tree with a mistake is one mistake, also where a family takes it.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f33, shape = [m])]
    w: T,
}

#[dispatch_family]
fn f(#[dynamic] params: Params<Aval>) -> Result<Program> {
    Program::stablehlo(params.w.to_string())
}

fn main() {}
