// Options stand in parentheses.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic = "f32"] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
