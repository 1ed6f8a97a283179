// References end at an argument that says its dtype.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = dtype(b), shape = [m])] a: Aval,
    #[dynamic(dtype = dtype(c), shape = [m])] b: Aval,
    #[dynamic(dtype = dtype(a), shape = [m])] c: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
