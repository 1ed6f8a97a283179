// Members have the types of attributes.
use dispatch_runtime::ffi::AttrValue;

#[derive(AttrValue)]
struct Range {
    lo: String,
    #[attr(default = 1)]
    hi: Option<i64>,
    #[attr(name = "x")]
    a: i64,
    x: i64,
}

fn main() {}
