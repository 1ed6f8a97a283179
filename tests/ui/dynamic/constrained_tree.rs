// The options of a tree stand at the fields of its struct.
use dispatch_runtime::prelude::*;

struct Params<T>(T);

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32)] p: Params<Aval>,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
