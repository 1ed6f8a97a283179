// Names that begin with `__` are those of expansions.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] __device: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
