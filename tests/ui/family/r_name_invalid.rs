// The name is one in R.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export, r_name = "2f")]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
