// A handler of another stage belongs to one that is executed.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

struct Plan;

#[ffi_handler(stage = instantiate, instantiate = g, target = "f")]
fn f() -> ffi::Result<Plan> {
    loop {}
}

fn main() {
    let _ = F.name();
}
