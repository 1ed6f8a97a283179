// A handler may fail.
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f() {}

fn main() {
    let _ = F.name();
}
