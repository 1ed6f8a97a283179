// A default is of the attribute's type.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[attr(default = 1.5)] n: i64) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
