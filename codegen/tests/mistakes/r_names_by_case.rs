mod r_families;

#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}

#[dispatch_family(r_export, r_name = "Fit")]
fn refit() -> Result<Program> {
    todo!()
}
