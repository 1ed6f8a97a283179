// A name in R needs an export.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_name = "scaled")]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
