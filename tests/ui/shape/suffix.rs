// A size has no suffix.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [8usize])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
