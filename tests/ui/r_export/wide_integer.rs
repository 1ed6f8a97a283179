// R has no integers of 128 bits.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] n: i128) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
