// One handler is one C function.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f<T: Copy>() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
