// An option stands once.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler(command_buffer, command_buffer)]
fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
