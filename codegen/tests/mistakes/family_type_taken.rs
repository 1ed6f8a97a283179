mod r_families;

#[derive(OutputTree)]
struct Fit<T> {
    x: T,
}

#[dispatch_family(r_export)]
fn fit() -> Result<Program<Fit<Array>>> {
    todo!()
}

#[dispatch_family(r_export)]
fn fit_more() -> Result<Program> {
    todo!()
}

#[dispatch_family(r_export)]
fn fitMore() -> Result<Program> {
    todo!()
}
