// A fixed device needs no default.
use dispatch_runtime::prelude::*;

#[dispatch_family(device = fixed, default_device = best)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
