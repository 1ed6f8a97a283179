// A static type with a mistake is one mistake, also where a family takes it.
use dispatch_runtime::prelude::*;

#[derive(Clone, StaticArg)]
enum Never {}

#[dispatch_family]
fn f(#[static_arg] never: Never) -> Result<Program> {
    match never {}
}

fn main() {}
