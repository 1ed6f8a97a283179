// The arrays of a `Vec` have no one shape.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [..])] a: Vec<Aval>,
    #[dynamic(dtype = dtype(a), shape = shape(a))] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
