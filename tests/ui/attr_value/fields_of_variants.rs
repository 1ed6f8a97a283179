// A variant is a number.
use dispatch_runtime::ffi::AttrValue;

#[derive(AttrValue)]
#[repr(i32)]
enum Command {
    Add(f32),
    Mul { by: f32 },
}

fn main() {}
