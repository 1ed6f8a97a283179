// Arguments are read, results written.
use dispatch_runtime::ffi::{self, AnyBuffer, Buffer, BufferMut};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg] a: BufferMut<f32>,
    #[ret] b: Buffer<f32>,
    #[ret] c: AnyBuffer,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
