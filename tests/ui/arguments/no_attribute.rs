// Every argument is dynamic or static.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    a: Aval,
    flag: bool,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
