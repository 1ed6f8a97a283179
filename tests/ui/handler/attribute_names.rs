// Each attribute has a name of its own.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[attr] n: i64,
    #[attr(name = "n")] m: i64,
    #[attr(name = "")] k: i64,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
