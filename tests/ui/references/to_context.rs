// The compile context is no argument.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(like(cx))] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
