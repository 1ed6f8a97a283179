// A name is one size or leading sizes.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [batch.., m])] a: Aval,
    #[dynamic(dtype = f32, shape = [batch])] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
