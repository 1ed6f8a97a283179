// The signature is written out.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
unsafe extern "C" fn f(#[attr] n: i64, _: ...) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
