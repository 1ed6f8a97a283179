// An attribute that is nearly one of the toolkit's.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[args] a: AnyBuffer) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
