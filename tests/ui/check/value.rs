// A size in braces is a number.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(x: [{"three"}]);
    Ok(())
}

fn main() {
    let _ = body;
}
