// `r_export` has no value.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export = true)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
