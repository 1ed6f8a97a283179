// The eviction policy is a value.
use dispatch_runtime::prelude::*;

#[dispatch_family(eviction = "lru")]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
