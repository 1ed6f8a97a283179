// An argument of a function in R cannot have a word of R's as its name.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(
    #[dynamic(dtype = f32, shape = [])] next: Aval,
    #[static_arg] function: bool,
    #[static_arg] _n: i64,
) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
