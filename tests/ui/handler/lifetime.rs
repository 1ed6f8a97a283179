// What a handler gets lives for one call.
use dispatch_runtime::ffi::{self, Buffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] a: Buffer<'static, f32>) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
