// A dtype has one of our names.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f33, shape = [m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
