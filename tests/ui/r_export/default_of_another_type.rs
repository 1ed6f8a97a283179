// A default is of the type of its argument.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(
    #[static_arg(default = 1)] scale: f64,
    #[static_arg(default = "a")] name: String,
    #[static_arg(default = 1.5)] n: i64,
) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
