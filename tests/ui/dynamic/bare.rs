// An array needs a dtype and a shape.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
