// R has no values of one character.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] letter: char) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
