// The type of a static argument is a static type.
use dispatch_runtime::prelude::*;

#[derive(Clone)]
struct Mode;

#[dispatch_family]
fn f(#[static_arg] mode: Mode) -> Result<Program> {
    drop(mode);
    Program::stablehlo(String::new())
}

fn main() {}
