// An output tree is a struct.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
enum Fit<T> {
    A(T),
}

fn main() {}
