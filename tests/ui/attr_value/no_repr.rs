// An enum says which integer it is.
use dispatch_runtime::ffi::{self, AttrValue};
use dispatch_runtime::prelude::*;

#[derive(AttrValue)]
enum Command {
    Add,
    Mul,
}

#[ffi_handler]
fn f(#[attr] command: Command) -> ffi::Result<()> {
    let _ = command;
    Ok(())
}

fn main() {}
