// The options of the attribute.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler(name = "f", comand_buffer, instantiate = 3)]
fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
