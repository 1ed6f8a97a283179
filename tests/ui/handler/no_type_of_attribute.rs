// A type that derives nothing.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

struct Point;

#[ffi_handler]
fn f(#[attr] a: Point) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
