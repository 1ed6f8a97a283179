// All mistakes of a check show at once.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(x: f33 [M, 2.0]; y: rnk = 2, dim(0, 1) = 3);
    Ok(())
}

fn main() {
    let _ = body;
}
