// A call has no lists of buffers.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] a: Vec<AnyBuffer>) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
