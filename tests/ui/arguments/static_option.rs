// The one option of a static argument is its default.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg(defalt = 1)] n: i64,
    #[static_arg(default)] flag: bool,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
