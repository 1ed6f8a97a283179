mod r_families;

#[dispatch_family(r_export)]
fn fit() -> Result<Program> {
    todo!()
}
//- DESCRIPTION
Package: pkg
Imports:
    stats, pjrtdispatch (>= 0.1)
Collate: 'fit.R'
    '000-wrappers.R'
License: MIT
