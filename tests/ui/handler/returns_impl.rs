// The return type is written out.
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f() -> impl Sized {
    loop {}
}

fn main() {
    let _ = F.name();
}
