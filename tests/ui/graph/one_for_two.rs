// What a body hands over has the structure that it declares: one result is not two.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] x: Value,
) -> Result<Program<(Array, Array)>> {
    cx.program(x.exp())
}

fn main() {}
