// A check returns the error.
use dispatch_runtime::ffi::{self, AnyBuffer};

fn body(x: AnyBuffer<'_>, y: AnyBuffer<'_>) -> usize {
    let _ = y;
    ffi::check!(x: f32 [n]);
    let _ = n;
    3
}

fn main() {
    let _ = body;
}
