// Each thing is said once.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> ffi::Result<()> {
    let _ = y;
    ffi::check!(x: f32 [n], dtype = f64, shape = [m]; y: like(y));
    let _ = n;
    Ok(())
}

fn main() {
    let _ = body;
}
