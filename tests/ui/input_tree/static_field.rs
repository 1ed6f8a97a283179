// A field is not static.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f32, shape = [m])]
    w: T,
    #[static_arg]
    rate: T,
}

fn main() {}
