// An array is not static.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
