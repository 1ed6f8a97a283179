// All mistakes of a shape show.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [-1, Rows, 2.0, k])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
