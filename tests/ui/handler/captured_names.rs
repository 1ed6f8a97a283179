// The names of sizes.
use dispatch_runtime::ffi::{self, AnyBuffer};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg(shape = [N, a])] a: AnyBuffer,
    #[arg(shape = [k, for])] b: AnyBuffer,
    #[attr] k: i64,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
