mod r_families;
mod tools {
    pub use dispatch_runtime::dispatch_family as family;
}
use dispatch_runtime as rt;
use tools::*;

#[family(r_export)]
fn first(#[static_arg] c: char) -> Result<Program> {
    todo!()
}

#[rt::prelude::dispatch_family(r_export)]
fn second(#[static_arg] c: char) -> Result<Program> {
    todo!()
}

#[::dispatch_runtime::dispatch_family(r_export)]
fn third(#[static_arg] c: char) -> Result<Program> {
    todo!()
}

#[crate::tools::family(r_export)]
fn fourth(#[static_arg] c: char) -> Result<Program> {
    todo!()
}
