// A name has a size in every call.
use dispatch_runtime::ffi::{self, Buffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg(shape = [n])] a: Option<Buffer<f32>>) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
