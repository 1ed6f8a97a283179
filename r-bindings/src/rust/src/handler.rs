//! Functions that compiled programs call.

use dispatch_r::{arg, entry, handlers, make, Fault};
use savvy::savvy;

/// Registers the pointers of a named list, one for each platform.
#[savvy]
fn rs_register_custom_call(
    target_name: savvy::Sexp,
    handler: savvy::Sexp,
    package: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let target = arg(&target_name, "target_name").string()?;
        let package = arg(&package, ".package").optional().map(|package| package.string()).transpose()?;
        if package.as_deref() == Some("") {
            return Err(Fault::argument("value", ".package", "the name of a package", "an empty string"));
        }
        let pointers = arg(&handler, "handler");
        let named = pointers.named_elements()?;
        if named.is_empty() {
            return Err(pointers.expected("a named list of external pointers, such as list(host = pointer)"));
        }
        handlers::register_pointers(&target, &named, package.as_deref())?;
        Ok(make::flag(true)?.release())
    })
}

/// Removes what belongs to a package that is unloaded; how many there were.
#[savvy]
fn rs_remove_handlers(package: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let count = handlers::remove(&arg(&package, ".package").string()?);
        Ok(make::double(count as f64)?.release())
    })
}

/// `function` is what `register_r_handler()` makes of the user's.
#[savvy]
fn rs_register_r_handler(name: savvy::Sexp, function: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let name = arg(&name, "name").string()?;
        if name.is_empty() {
            return Err(Fault::argument("value", "name", "the name of a target", "an empty string"));
        }
        handlers::register_r(&name, function.0)?;
        Ok(make::flag(true)?.release())
    })
}
