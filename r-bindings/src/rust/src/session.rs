//! The package as a whole.

use savvy::savvy;

/// Called when the package is loaded.
#[savvy]
fn rs_attach(raise: savvy::Sexp, show: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::attach(raise.0)?;
    dispatch_r::entry(|| {
        dispatch_r::printing::set_show(show.0)?;
        crate::targets::register()?;
        dispatch_r::shared::provide()
    })
}

/// What a value is, in the words of messages.
#[savvy]
fn rs_describe(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::entry(|| Ok(dispatch_r::make::string(&dispatch_r::describe::value(x.0))?.release()))
}

/// Panics, for the tests.
#[savvy]
fn rs_panic(message: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::entry(|| panic!("{}", dispatch_r::arg(&message, "message").string()?))
}
