// What has a default.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[attr(default = 1)] a: Option<i64>,
    #[attr(default)] b: i64,
    #[attr(defualt = 1)] c: i64,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
