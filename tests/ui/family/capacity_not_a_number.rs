// The capacity is a positive integer.
use dispatch_runtime::prelude::*;

#[dispatch_family(capacity = "64")]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
