// The attribute goes on a function.
use dispatch_runtime::prelude::*;

#[ffi_handler]
struct S;

fn main() {}
