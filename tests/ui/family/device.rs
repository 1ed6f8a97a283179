// The device policy is one of two.
use dispatch_runtime::prelude::*;

#[dispatch_family(device = cpu)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
