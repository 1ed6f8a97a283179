// A result is written back into an argument, not into a field of one.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct P<T> {
    #[dynamic(dtype = f32, shape = [m], write_back)]
    w: T,
}

fn main() {}
