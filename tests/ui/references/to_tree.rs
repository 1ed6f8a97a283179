// A tree has no one dtype.
use dispatch_runtime::prelude::*;

struct Params<T>(T);

#[dispatch_family]
fn f(
    #[dynamic] p: Params<Aval>,
    #[dynamic(dtype = dtype(p), shape = [m])] b: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
