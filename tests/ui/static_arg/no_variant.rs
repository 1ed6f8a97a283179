// A static type has a value.
use dispatch_runtime::prelude::*;

#[derive(StaticArg)]
enum Never {}

fn main() {}
