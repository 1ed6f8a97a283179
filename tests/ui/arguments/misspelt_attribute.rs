// An attribute of an argument is one of two.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamc(dtype = f32, shape = [m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
