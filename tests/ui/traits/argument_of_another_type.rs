// A dynamic argument is an array or host data.
use dispatch_runtime::prelude::*;

#[dispatch_family]
fn double(#[dynamic(dtype = f32, shape = [m])] a: Aval) -> Result<Program> {
    Program::stablehlo(format!("{a}{m}"))
}

fn main() {
    let family = Double::new(&Client::cpu().unwrap());
    family.call("text").unwrap();
}
