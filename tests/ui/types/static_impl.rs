// The type of a static argument has a name.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] name: impl Clone,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
