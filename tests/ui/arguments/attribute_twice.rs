// One attribute has all options.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] #[static_arg(default = 1)] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
