// R does not know the constants of Rust.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg(default = STEPS)] n: i64) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
