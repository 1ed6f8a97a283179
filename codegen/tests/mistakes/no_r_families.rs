//! A package.

use dispatch_runtime::prelude::*;

#[dispatch_family(r_export)]
fn fit(#[dynamic(dtype = f64, shape = [n])] x: Aval) -> Result<Program> {
    todo!()
}
