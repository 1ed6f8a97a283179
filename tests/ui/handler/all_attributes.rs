// All attributes are a dictionary, once.
use dispatch_runtime::ffi::{self, Dictionary};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[attrs] a: Dictionary,
    #[attrs] b: Dictionary,
    #[attrs] c: i64,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
