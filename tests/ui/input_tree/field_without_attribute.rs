// Every field is described.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f32, shape = [m])]
    w: T,
    b: T,
}

fn main() {}
