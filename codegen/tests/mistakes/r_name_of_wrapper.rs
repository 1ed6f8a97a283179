mod r_families;

#[savvy]
fn version() -> savvy::Result<savvy::Sexp> {}

#[dispatch_family(r_export, r_name = "version")]
fn fit() -> Result<Program> {}
