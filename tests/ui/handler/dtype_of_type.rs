// A dtype that is not that of the type.
use dispatch_runtime::ffi::{self, Buffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg(dtype = f64, shape = [n])] a: Buffer<f32>,
    #[arg(dtype = float)] b: Buffer<f32>,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
