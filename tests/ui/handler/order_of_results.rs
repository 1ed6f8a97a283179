// Results have the same order, among themselves.
use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, RemainingRets};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[ret] a: Option<AnyBufferMut>,
    #[ret] b: AnyBufferMut,
    #[arg] x: AnyBuffer,
    #[ret] c: RemainingRets,
    #[ret] d: RemainingRets,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
