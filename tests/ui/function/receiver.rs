// A family is no method.
use dispatch_runtime::prelude::*;

struct Model;

impl Model {
    #[dispatch_family]
    fn f(&self, #[static_arg] n: i64) -> Result<Program> {
        Program::stablehlo(String::new())
    }
}

fn main() {}
