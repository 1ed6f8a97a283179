// The type parameter is free.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T: Clone> {
    #[dynamic(dtype = f32, shape = [m])]
    w: T,
}

fn main() {}
