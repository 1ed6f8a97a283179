// The static has the function's name in upper case.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn F() -> ffi::Result<()> {
    Ok(())
}

fn main() {}
