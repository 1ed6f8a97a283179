// R cannot pass functions of Rust.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] f: fn(i64) -> i64) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
