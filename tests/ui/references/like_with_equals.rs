// `like` has parentheses.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(like = b)] a: Aval,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
