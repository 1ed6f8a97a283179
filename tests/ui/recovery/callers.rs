// The callers of a family with a mistake give no errors.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn scaled_matmul(
    #[dynamic(dtype = f33, shape = [m])] a: Aval,
    #[static_arg] flag: bool,
) -> Result<Program> {
    Program::stablehlo(String::new())
}

fn main() {
    let client = Client::cpu().unwrap();
    let family = ScaledMatmul::new(&client);
    let y: Array = family.call(2.0, false).unwrap();
    println!("{}", family.stats().compiles);
    drop(y);
}
