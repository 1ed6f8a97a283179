// The types of members are fixed.
use dispatch_runtime::ffi::{self, AttrValue};
use dispatch_runtime::prelude::*;

#[derive(AttrValue)]
struct Range<T> {
    lo: T,
}

fn main() {}
