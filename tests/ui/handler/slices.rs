// A slice has no shape.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] a: &[f32], #[ret] b: &mut [f32]) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
