mod r_families;

#[dispatch_family(r_export)]
#[dispatch_family(capacity = 3)]
fn fit() -> Result<Program> {
    todo!()
}
