// References are to buffers that are there.
use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, BufferMut};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn f(
    #[arg(dtype = float)] x: AnyBuffer,
    #[attr] n: i64,
    #[ret(like(xs))] a: AnyBufferMut,
    #[ret(like(n))] b: AnyBufferMut,
    #[ret(like(x))] c: BufferMut<f32>,
) -> ffi::Result<()> {
    loop {}
}

fn main() {
    let _ = F.name();
}
