// The compile context is passed by reference.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: CompileCx,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
