// The fields have names.
use dispatch_runtime::prelude::*;

#[derive(InputTree)]
struct Params<T>(T);

fn main() {}
