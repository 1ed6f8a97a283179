#[savvy]
fn rs_f(x: (i32, i32)) -> savvy::Result<savvy::Sexp> {}

#[savvy]
fn rs_g() -> i32 {}
