// A static type is a struct or an enum.
use dispatch_runtime::prelude::*;

#[derive(StaticArg)]
union Bits {
    float: f32,
    int: u32,
}

fn main() {}
