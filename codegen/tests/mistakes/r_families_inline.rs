mod r_families {}

#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}
