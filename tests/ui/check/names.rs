// The names of a check.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(x: [x, n]; y: [n.., 3]);
    let _: usize = n;
    Ok(())
}

fn main() {
    let _ = body;
}
