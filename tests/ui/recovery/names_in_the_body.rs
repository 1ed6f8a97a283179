// Captured names are known to the body of a family with a mistake.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn f(
    #[dynamic(dtype = f33, shape = [batch.., m, k])] a: Aval,
    #[static_arg] flag: bool,
) -> Result<Program> {
    let size: i64 = if flag { m } else { k * batch[0] };
    Program::stablehlo(format!("{size}"))
}

fn main() {}
