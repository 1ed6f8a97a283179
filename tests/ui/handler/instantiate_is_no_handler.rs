// The function that is named is another handler's.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

fn make_plan() {}

#[ffi_handler(instantiate = make_plan)]
fn f() -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
