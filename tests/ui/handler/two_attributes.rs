// An argument has one role.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] #[ret] a: AnyBuffer) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
