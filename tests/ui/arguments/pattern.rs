// An argument is a plain name.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] (a, b): (Aval, Aval),
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
