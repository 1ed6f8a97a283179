// Converters, which write back, do not exist yet.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], write_back)] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
