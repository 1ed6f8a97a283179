// One type parameter stands for the arrays.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T, U> {
    #[dynamic(dtype = f32, shape = [m])]
    w: T,
    #[dynamic(dtype = f32, shape = [m])]
    b: U,
}

fn main() {}
