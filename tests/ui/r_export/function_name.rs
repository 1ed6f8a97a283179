// The function of R needs a name of R.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn attach_families() -> Result<Program> {
    Program::stablehlo("")
}

#[dispatch_family(r_export)]
fn r#repeat() -> Result<Program> {
    Program::stablehlo("")
}

#[dispatch_family(r_export)]
fn größe() -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
