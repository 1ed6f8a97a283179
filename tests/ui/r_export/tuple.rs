// R has no tuples.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] size: (i64, i64)) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
