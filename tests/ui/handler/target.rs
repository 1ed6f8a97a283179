// A target has a name.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler(target = "", command_buffer = true)]
fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
