// A pattern is of a variable.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(f32 [n]);
    ffi::check!(x.y: f32);
    ffi::check!();
    Ok(())
}

fn main() {
    let _ = body;
}
