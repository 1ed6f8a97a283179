// A captured name is in lower case; the body may use it all the same.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [M])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(format!("{M}"))
}

fn main() {}
