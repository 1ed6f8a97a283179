// A body is an ordinary function.
use dispatch_runtime::prelude::*;

#[dispatch_family]
async fn f(#[static_arg] n: i64) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
