// The memory is XLA's.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] a: Array, #[arg] b: Vec<f32>) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
