// A dynamic argument holds arrays.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: f32,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
