// A captured name begins with a letter.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [_m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
