// The types of attributes.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[attr] a: String,
    #[attr] b: Vec<i64>,
    #[attr] c: usize,
    #[attr] d: &[bool],
    #[attr] e: impl Copy,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
