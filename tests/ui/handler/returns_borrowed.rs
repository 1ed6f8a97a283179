// Nothing borrowed is returned.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[attr] s: &str) -> ffi::Result<&str> {
    loop {}
}

fn main() {
    let _ = F.name();
}
