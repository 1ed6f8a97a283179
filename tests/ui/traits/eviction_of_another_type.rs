// An eviction policy implements the trait.
use dispatch_runtime::prelude::*;

struct Mine;

#[dispatch_family(eviction = Mine)]
fn f(#[static_arg] n: i64) -> Result<Program> {
    Program::stablehlo(n.to_string())
}

fn main() {}
