// A constant capacity has the type `usize`.
use dispatch_runtime::prelude::*;

const SLOTS: i32 = 64;

#[dispatch_family(capacity = SLOTS)]
fn f(#[static_arg] n: i64) -> Result<Program> {
    Program::stablehlo(n.to_string())
}

fn main() {}
