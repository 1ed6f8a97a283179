// The type of a family does not hide one of the prelude.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn array(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
