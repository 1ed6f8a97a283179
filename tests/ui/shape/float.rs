// A size is an integer.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [2.0])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
