mod r_families;

#[derive(Clone, StaticArg)]
enum Link {
    Logit,
    Power(f64),
}

#[dispatch_family(r_export)]
fn fit(#[static_arg] link: Option<Link>) -> Result<Program> {
    todo!()
}
