// A size fits into 64 bits with a sign.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [9223372036854775808])] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
