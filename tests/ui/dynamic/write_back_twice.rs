// Each result is written back once.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], write_back)] a: Aval,
    #[dynamic(dtype = f32, shape = [m], write_back = 0)] b: Aval,
) -> Result<Program<(Array, Array)>> {
    Program::stablehlo(String::new())
}

fn main() {}
