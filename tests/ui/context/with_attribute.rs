// The compile context has no attribute.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] cx: &CompileCx,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
