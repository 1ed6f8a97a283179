// A class stands alone.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = [float, i32], shape = [m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
