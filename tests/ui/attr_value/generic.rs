// The types of members are fixed.
use dispatch_runtime::ffi::AttrValue;

#[derive(AttrValue)]
struct Range<T> {
    lo: T,
}

fn main() {}
