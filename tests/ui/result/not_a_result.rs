// A family may fail.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] n: i64,
) -> Program {
    todo!()
}

fn main() {}
