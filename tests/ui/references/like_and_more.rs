// `like` says dtype and shape.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: Aval,
    #[dynamic(like(a), dtype = f64)] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
