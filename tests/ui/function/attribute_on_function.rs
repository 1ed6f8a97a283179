// The attributes of arguments go on arguments.
use dispatch_runtime::prelude::*;

#[dispatch_family]
#[dynamic(dtype = f32)]
fn f(#[static_arg] n: i64) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {}
