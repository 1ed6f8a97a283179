mod r_families;

#[derive(Clone, StaticArg)]
enum Link<const N: usize = 2> {
    Logit,
}

#[dispatch_family(r_export)]
fn fit(#[static_arg] link: Link) -> Result<Program> {
    todo!()
}
