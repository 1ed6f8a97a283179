// A field holds arrays.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f32, shape = [m])]
    w: T,
    rate: f32,
}

fn main() {}
