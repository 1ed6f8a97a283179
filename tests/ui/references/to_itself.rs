// An argument does not refer to itself.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = dtype(a), shape = shape(a))] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
