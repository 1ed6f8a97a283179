mod r_families;
mod fits;

//- src/rust/src/fits.rs
#[dispatch_family(r_export)]
fn logistic() -> Result<Program> {
    todo!()
}

pub(self) mod inner {
    #[dispatch_family(r_export)]
    pub(super) fn poisson() -> Result<Program> {
    todo!()
}
}
