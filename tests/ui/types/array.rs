// The body sees abstract values.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: &Array,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
