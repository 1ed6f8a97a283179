mod r_families;

#[derive(Clone, StaticArg)]
enum Link {
    LogLog,
    #[allow(non_camel_case_types)]
    Log_Log,
}

#[dispatch_family(r_export)]
fn fit(#[static_arg] link: Link) -> Result<Program> {
    todo!()
}
