// All mistakes of a struct show.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = f33, shape = [w])]
    w: T,
    #[dynamic(like(v))]
    b: T,
    #[dynamic(donate)]
    other: Other<T>,
}

struct Other<T>(T);

fn main() {}
