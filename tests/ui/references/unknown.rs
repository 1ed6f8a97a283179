// A reference names an argument.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] weight: Aval,
    #[dynamic(dtype = dtype(wieght), shape = [m])] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
