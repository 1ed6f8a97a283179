// Leading dimensions are two dots.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [...])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
