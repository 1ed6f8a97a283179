// A dictionary has names.
use dispatch_runtime::ffi::{self, AttrValue};
use dispatch_runtime::prelude::*;

#[derive(AttrValue)]
struct Range(i64, i64);

fn main() {}
