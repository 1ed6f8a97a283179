// Resolvers are given by path.
use dispatch_runtime::prelude::*;

#[dispatch_family(context = || 3)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
