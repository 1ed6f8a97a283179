// A handler is no method.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

struct S;

impl S {
    #[ffi_handler]
    fn f(&self) -> ffi::Result<()> {
        Ok(())
    }
}

fn main() {}
