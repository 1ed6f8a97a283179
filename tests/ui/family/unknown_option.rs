// An option must be one of the language.
use dispatch_runtime::prelude::*;

#[dispatch_family(capasity = 64)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
