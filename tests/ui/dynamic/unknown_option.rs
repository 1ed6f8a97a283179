// An option must be one of the language.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtpye = f32, shape = [m])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
