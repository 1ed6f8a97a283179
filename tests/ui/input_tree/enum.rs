// An input tree is a struct.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
enum Params<T> {
    A(T),
}

fn main() {}
