// The compiler reports it on the function.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] n: i64,
    #[static_arg] n: bool,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
