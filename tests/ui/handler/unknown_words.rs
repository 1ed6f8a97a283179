// All misspelt words show at once.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg(dtype = f33, shpae = [n])] a: AnyBuffer,
    #[ret(dtype = double)] b: ffi::AnyBufferMut,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
