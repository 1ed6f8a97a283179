// The attributes of arguments go on arguments.
use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;

#[ffi_handler]
#[arg(dtype = f32)]
fn f(#[attr] n: i64) -> ffi::Result<()> {
    let _ = n;
    Ok(())
}

fn main() {}
