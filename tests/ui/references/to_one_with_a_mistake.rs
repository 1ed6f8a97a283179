// A reference to a wrong argument is no second mistake.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f33, shape = [-1])] a: Aval,
    #[dynamic(like(a))] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
