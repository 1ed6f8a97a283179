// R has no values of generic types.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] n: Box<i64>) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
