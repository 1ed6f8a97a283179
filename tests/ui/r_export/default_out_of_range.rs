// A default is in the range of its type, and exact in R.
use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(
    #[static_arg(default = 300)] a: u8,
    #[static_arg(default = -1)] b: usize,
    #[static_arg(default = 9_007_199_254_740_992)] c: i64,
) -> Result<Program> {
    Program::stablehlo("")
}

fn main() {}
