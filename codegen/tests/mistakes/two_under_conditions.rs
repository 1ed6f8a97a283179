mod r_families;

#[cfg(unix)]
#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}

#[cfg(not(unix))]
#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}
