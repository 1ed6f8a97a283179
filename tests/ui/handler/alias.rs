// A result takes over an argument that is declared so.
use dispatch_runtime::ffi::{self, Aliased, AnyBuffer, AnyBufferMut};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg] x: AnyBuffer,
    #[arg] y: Aliased,
    #[ret(alias = x)] a: AnyBufferMut,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
