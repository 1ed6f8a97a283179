// Each argument says what it is in the call.
use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    a: Buffer<f32>,
    out: BufferMut<f32>,
    n: i64,
    pool: ffi::ThreadPool,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
