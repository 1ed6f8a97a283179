// A type parameter stands for the arrays.
use dispatch_runtime::prelude::*;

#[derive(OutputTree)]
struct Fit {
    coef: Array,
}

fn main() {}
