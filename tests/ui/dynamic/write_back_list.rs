// A result is written back into one array.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], write_back)] a: Vec<Aval>,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
