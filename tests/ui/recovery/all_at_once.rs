// All mistakes of a declaration show.
use dispatch_runtime::prelude::*;

#[dispatch_family(capacity = 0, evict = Lru)]
fn f(
    #[dynamic(dtype = f33, shape = [m, ..])] a: Aval,
    #[dynamic(dtype = dtype(z), shape = [a])] b: Aval,
    c: bool,
) -> Program {
    todo!()
}

fn main() {}
