// A static value is owned by the key.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] name: &str,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
