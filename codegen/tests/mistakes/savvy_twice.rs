#[savvy]
fn rs_f(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {}

mod other {
    #[savvy]
    fn rs_f(x: savvy::Sexp, y: savvy::Sexp) -> savvy::Result<savvy::Sexp> {}
}
