mod r_families;

#[derive(Clone, StaticArg)]
struct Grid {
    steps: i64,
}

#[dispatch_family(r_export)]
fn fit(#[static_arg] grid: Grid) -> Result<Program> {
    todo!()
}
