mod r_families;
pub mod a;
pub mod b;

#[dispatch_family(r_export, r_name = "fit")]
fn c() -> Result<Program> {
    todo!()
}
//- src/rust/src/a.rs
#[dispatch_family(r_export)]
pub fn fit() -> Result<Program> {
    todo!()
}
//- src/rust/src/b/mod.rs
#[dispatch_family(r_export)]
pub fn fit() -> Result<Program> {
    todo!()
}
