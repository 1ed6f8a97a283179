// Something is said of each buffer.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(x:; y: rank = []);
    Ok(())
}

fn main() {
    let _ = body;
}
