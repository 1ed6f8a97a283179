// The signature does not depend on conditions.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[cfg(unix)] #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
