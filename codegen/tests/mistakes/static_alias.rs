mod r_families;
type Count = i64;

#[dispatch_family(r_export)]
fn fit(#[static_arg] n: Count) -> Result<Program> {
    todo!()
}
