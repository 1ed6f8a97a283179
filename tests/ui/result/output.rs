// The outputs are arrays.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[static_arg] n: i64,
) -> Result<Program<(Array, Vec<Array>)>> {
    todo!()
}

fn main() {}
