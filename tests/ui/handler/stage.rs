// The stages besides the execution.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler(stage = compile)]
fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
