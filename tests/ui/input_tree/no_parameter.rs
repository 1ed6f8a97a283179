// A type parameter stands for the arrays.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params {
    w: f32,
}

fn main() {}
