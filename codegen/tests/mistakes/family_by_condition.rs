mod r_families;

#[cfg_attr(feature = "r", dispatch_family(r_export))]
fn fit() -> Result<Program> {
    todo!()
}
