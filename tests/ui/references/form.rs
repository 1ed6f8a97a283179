// A reference names one argument.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = dtype(b, c), shape = shape())] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
