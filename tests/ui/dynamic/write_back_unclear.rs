// Of two results it has to be said which one is written back, and there is no third one.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], write_back)] a: Aval,
    #[dynamic(dtype = f32, shape = [m], write_back = 2)] b: Aval,
) -> Result<Program<(Array, Array)>> {
    Program::stablehlo(String::new())
}

fn main() {}
