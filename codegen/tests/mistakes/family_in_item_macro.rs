mod r_families;

items! {
    #[cfg_attr(unix, dispatch_family(r_export))]
    fn f() -> Result<Program> {
    todo!()
}

    #[dispatch_family(capacity = 3)]
    fn only_in_rust() -> Result<Program> {
    todo!()
}
}
