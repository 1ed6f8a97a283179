// The compile context is taken once.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    other: &CompileCx,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
