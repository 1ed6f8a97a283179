// Several executions use one state at a time.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

struct Plan(std::cell::Cell<i32>);

#[ffi_handler(stage = instantiate)]
fn f() -> ffi::Result<Plan> {
    loop {}
}

fn main() {
    let _ = F.name();
}
