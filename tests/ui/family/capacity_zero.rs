// A cache holds something.
use dispatch_runtime::prelude::*;

#[dispatch_family(capacity = 0)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
