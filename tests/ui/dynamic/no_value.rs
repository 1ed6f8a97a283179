// A dtype and a shape have a value.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype, shape =)] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
