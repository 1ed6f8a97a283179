// Graph values are passed by value.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [m])] a: &Vec<Value>,
) -> Result<Program> {
    todo!()
}

fn main() {}
