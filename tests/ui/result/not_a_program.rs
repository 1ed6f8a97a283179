// A family gives a program.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] n: i64,
) -> Result<Array> {
    todo!()
}

fn main() {}
