// A buffer is no attribute.
use dispatch_runtime::ffi::{self, Buffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[attr] a: Buffer<f32>) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
