// A family is not generic.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f<T: Clone>(#[static_arg] n: i64) -> Result<Program>
where
    T: Copy,
{
    Program::stablehlo(String::new())
}

fn main() {}
