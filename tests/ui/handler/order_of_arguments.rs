// Nothing plain after optional, nothing after remaining.
use dispatch_runtime::ffi::{self, AnyBuffer, RemainingArgs};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg] a: Option<AnyBuffer>,
    #[arg] b: AnyBuffer,
    #[arg] c: RemainingArgs,
    #[arg] d: Option<AnyBuffer>,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
