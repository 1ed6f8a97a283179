// An argument is a plain name.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] _: AnyBuffer) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
