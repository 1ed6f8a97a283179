// A result with a mistake is one mistake, also where a family gives it.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    steps: Vec<T>,
}

#[dispatch_family]
fn f(#[static_arg] n: i64) -> Result<Program<Fit<Array>>> {
    Program::stablehlo(n.to_string())
}

fn main() {}
