// An option stands once.
use dispatch_runtime::prelude::*;

#[dispatch_family(capacity = 1, capacity = 2)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
