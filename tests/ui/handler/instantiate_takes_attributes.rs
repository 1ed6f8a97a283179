// An instantiate handler gets attributes only.
use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut};
use dispatch_runtime::prelude::*;

struct Plan;

#[ffi_handler(stage = instantiate)]
fn f(
    #[arg] a: AnyBuffer,
    #[ret] b: AnyBufferMut,
    #[ctx] c: ffi::RunId,
) -> ffi::Result<Plan> {
    loop {}
}

fn main() {
    let _ = F.name();
}
