// The elements of buffers.
use dispatch_runtime::ffi::{self, Buffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg] a: Buffer<usize>,
    #[arg] b: Buffer<String>,
    #[arg] c: Buffer,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
