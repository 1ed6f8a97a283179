//! The package as a whole.

use savvy::savvy;

/// Called when the package is loaded.
#[savvy]
fn rs_attach(raise: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::attach(raise.0)
}

/// Panics, for the tests.
#[savvy]
fn rs_panic(message: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::entry(|| panic!("{}", dispatch_r::arg(&message, "message").string()?))
}
