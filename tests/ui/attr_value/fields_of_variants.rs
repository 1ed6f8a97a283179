// A variant is a number.
use dispatch_runtime::ffi::{self, AttrValue};
use dispatch_runtime::prelude::*;

#[derive(AttrValue)]
#[repr(i32)]
enum Command {
    Add(f32),
    Mul { by: f32 },
}

fn main() {}
