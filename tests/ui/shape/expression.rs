// A size is not computed.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m * 2])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
