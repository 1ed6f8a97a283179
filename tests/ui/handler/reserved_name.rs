// Names that begin with `__` are those of expansions.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(#[arg] __a: AnyBuffer) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
