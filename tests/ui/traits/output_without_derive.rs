// A structure of outputs is an output tree.
use dispatch_runtime::prelude::*;

struct Fit<T> {
    coef: T,
}

#[dispatch_family]
fn f(#[static_arg] n: i64) -> Result<Program<Fit<Array>>> {
    Program::stablehlo(n.to_string())
}

fn main() {}
