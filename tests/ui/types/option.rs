// An array is not optional.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: Option<Aval>,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
