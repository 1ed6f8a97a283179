// What the context has.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[ctx] a: ffi::ThreadPol,
    #[ctx] b: &ffi::ThreadPool,
    #[ctx(x)] c: ffi::RunId,
    #[ctx] d: ffi::State,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
