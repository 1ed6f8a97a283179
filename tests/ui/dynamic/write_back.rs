// `write_back` is followed by the index of a result, or by nothing.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m], write_back = first)] a: Aval,
    #[dynamic(dtype = f32, shape = [m], write_back = -1)] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
