mod r_families;
mod fits;

#[dispatch_family(r_export)]
fn fit(#[dynamic(dtype = f33, shape = [n])] x: Aval) -> Result<Program> {
    todo!()
}
//- src/rust/src/fits.rs
#[dispatch_family(r_export)]
pub fn fit(#[dynamic(dtype = f64 shape = [n])] x: Aval) -> Result<Program> {
    let y = ;
}
