// The attribute goes on a function.
use dispatch_runtime::prelude::*;

#[dispatch_family]
struct Matmul;

fn main() {}
