// R has no maps.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[static_arg] weights: std::collections::BTreeMap<String, i64>) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
