// A field holds arrays.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    loss: f64,
    pair: (T, T),
}

fn main() {}
