// Options of other dispatchers are known.
use dispatch_runtime::prelude::*;

#[dispatch_family(move_inputs = true)]
fn f(
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
