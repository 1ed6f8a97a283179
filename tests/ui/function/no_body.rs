// A family has a body.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(#[static_arg] n: i64) -> Result<Program>;

fn main() {}
