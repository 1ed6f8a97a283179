// The compile context comes first.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] n: i64,
    cx: &CompileCx,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
