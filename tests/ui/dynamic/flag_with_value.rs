// `donate` has no value.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], donate = true)] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
