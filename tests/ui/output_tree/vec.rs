// The number of outputs is fixed.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    steps: Vec<T>,
}

fn main() {}
