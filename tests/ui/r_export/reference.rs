// R cannot lend a string for ever.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] name: &'static str) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
