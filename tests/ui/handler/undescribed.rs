// Tokens and remaining buffers have no dtype and no shape.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg(dtype = f32)] t: ffi::Token,
    #[ret(shape = [n])] all: ffi::RemainingRets,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
