// R cannot call functions of Rust for a default.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg(default = steps())] n: i64) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
