// A static value is owned by the key.
use dispatch_runtime::prelude::*;

#[derive(StaticArg)]
struct Name<'a> {
    name: &'a str,
}

fn main() {}
