// A dictionary has names.
use dispatch_runtime::ffi::AttrValue;

#[derive(AttrValue)]
struct Range(i64, i64);

fn main() {}
