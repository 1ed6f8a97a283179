// The vectors of R do not nest.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] rows: Vec<Vec<i64>>) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
