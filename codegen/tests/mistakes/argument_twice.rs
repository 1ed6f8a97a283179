mod r_families;

#[dispatch_family(r_export)]
fn fit(#[static_arg] n: i64, #[static_arg] r#n: bool) -> Result<Program> {
    todo!()
}
