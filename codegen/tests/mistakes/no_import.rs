mod r_families;

#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}
//- DESCRIPTION
Package: pkg
Imports: stats,
    pjrtdispatch2 (>= 0.1)
