// The graph builder does not exist yet.
use dispatch_runtime::prelude::*;

struct Value;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: Value,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
