// Without a near name, all are listed.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = banana, shape = [m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
