// A captured name is not that of an argument.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [a, n, cx])] a: Aval,
    #[static_arg] n: i64,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
