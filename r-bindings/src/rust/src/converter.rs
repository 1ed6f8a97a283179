//! Converters.

use dispatch_r::convert::{self, Reach, Registration};
use dispatch_r::{arg, entry, ffi, make, Result};
use savvy::savvy;

/// Which converters are meant.
fn reach(scope: &savvy::Sexp) -> Result<Reach<'_>> {
    Reach::of(arg(scope, "scope"))
}

/// The R functions that make what gets the errors of a converter's functions, and that find the package whose code calls.
#[savvy]
fn rs_converter_functions(handler: savvy::Sexp, finder: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        convert::set_handler(handler.0)?;
        convert::set_finder(finder.0)?;
        Ok(ffi::nil())
    })
}

/// Registers a converter; its number. With `begin` before all others, until `rs_converter_end()` of what is given.
#[savvy]
#[allow(clippy::too_many_arguments)]
fn rs_register_converter(
    class: savvy::Sexp,
    convert_in: savvy::Sexp,
    convert_out: savvy::Sexp,
    description: savvy::Sexp,
    predicate: savvy::Sexp,
    copy: savvy::Sexp,
    package: savvy::Sexp,
    scope: savvy::Sexp,
    begin: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let what = Registration {
            class: arg(&class, "class"),
            convert_in: arg(&convert_in, "convert_in"),
            convert_out: arg(&convert_out, "convert_out"),
            description: arg(&description, "description"),
            predicate: arg(&predicate, "predicate"),
            copy: arg(&copy, "copy"),
            package: arg(&package, "package"),
        };
        let number = match arg(&begin, "begin").flag()? {
            true => convert::begin_scope(&what)? as f64,
            false => convert::register(&what, &reach(&scope)?)? as f64,
        };
        Ok(make::double(number)?.release())
    })
}

/// Ends what `rs_register_converter()` has begun.
#[savvy]
fn rs_converter_end(around: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        convert::end_scope(arg(&around, "around").integer()? as usize);
        Ok(ffi::nil())
    })
}

/// Removes a converter by its position or description, or by its number.
#[savvy]
fn rs_remove_converter(
    id: savvy::Sexp,
    is_number: savvy::Sexp,
    scope: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        convert::remove(arg(&id, "id"), arg(&is_number, "is_number").flag()?, &reach(&scope)?)?;
        Ok(ffi::nil())
    })
}

/// Removes those of a package.
#[savvy]
fn rs_remove_converters(package: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let count = convert::remove_all_of(&arg(&package, "package").string()?);
        Ok(make::double(count as f64)?.release())
    })
}

/// Makes a converter active or not; whether it was.
#[savvy]
fn rs_converter_set(
    id: savvy::Sexp,
    is_number: savvy::Sexp,
    active: savvy::Sexp,
    scope: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (is_number, active) = (arg(&is_number, "is_number").flag()?, arg(&active, "active").flag()?);
        let was = convert::set_active(arg(&id, "id"), is_number, active, &reach(&scope)?)?;
        Ok(make::flag(was)?.release())
    })
}

/// The columns of `converters()`, with `all` of those of every call and of packages.
#[savvy]
fn rs_converters(scope: savvy::Sexp, all: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let columns = match arg(&all, "all").flag()? {
            true => convert::about_all()?,
            false => convert::about(&reach(&scope)?)?,
        };
        Ok(columns.release())
    })
}

/// Sets the copy policy of calls; what it was, `NULL` for none.
#[savvy]
fn rs_copy_policy(policy: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let policy = arg(&policy, "policy").optional().map(convert::policy).transpose()?;
        match convert::set_copy(policy) {
            Some(before) => Ok(make::string(convert::policy_name(before))?.release()),
            None => Ok(ffi::nil()),
        }
    })
}

/// The path of the argument that a function of this converter runs for; `NULL` if none runs.
#[savvy]
fn rs_converter_path(id: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| match convert::running_path(arg(&id, "id").double()?) {
        Some(path) => Ok(make::string(&path)?.release()),
        None => Ok(ffi::nil()),
    })
}
