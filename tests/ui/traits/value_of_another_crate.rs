// A body can see an array as the runtime's own `Value` only.
use dispatch_runtime::prelude::*;

struct Value;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [4])] a: Value,
) -> Result<Program> {
    todo!()
}

fn main() {}
