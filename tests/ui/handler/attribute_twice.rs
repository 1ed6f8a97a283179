// All options of an argument stand in one attribute.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[attr] #[attr(default = 1)] n: i64) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
