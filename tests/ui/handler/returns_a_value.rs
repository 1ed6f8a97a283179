// Results are written, not returned.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f() -> ffi::Result<f32> {
    loop {}
}

fn main() {
    let _ = F.name();
}
