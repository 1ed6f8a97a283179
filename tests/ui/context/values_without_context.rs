// Only the compile context makes a program of graph values.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f32, shape = [m])] a: Aval,
    #[dynamic(like(a))] b: Value,
    #[dynamic(like(a))] c: Vec<Value>,
) -> Result<Program> {
    todo!()
}

fn main() {}
