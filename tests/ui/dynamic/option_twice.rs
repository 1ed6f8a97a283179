// An option stands once.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], dtype = f64)] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
