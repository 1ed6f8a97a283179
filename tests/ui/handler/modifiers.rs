// A handler is an ordinary function.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
async unsafe extern "C" fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
