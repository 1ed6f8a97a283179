// No argument is both.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] #[static_arg] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
