//! How far a converter reaches, and whose code it is that calls.

use std::cell::Cell;

use crate::arg::Arg;
use crate::dispatcher::{self, Dispatcher};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::Handle;
use crate::main_thread::MainThread;
use crate::unwind::protect;
use crate::{describe, make};

/// The calls that a converter is for.
pub enum Reach<'a> {
    /// All.
    All,
    /// Those of a dispatcher.
    Dispatcher(&'a Dispatcher),
    /// Those from the code of a package, by its name.
    Package(String),
}

/// Packages whose code calls for somebody else: R's own, which call functions that they are given, and `pjrtdispatch`.
const PASSED_OVER: [&str; 15] = [
    "base",
    "compiler",
    "datasets",
    "graphics",
    "grDevices",
    "grid",
    "methods",
    "parallel",
    "pjrtdispatch",
    "splines",
    "stats",
    "stats4",
    "tcltk",
    "tools",
    "utils",
];

impl<'a> Reach<'a> {
    /// What the argument `scope` of an R function says: `NULL`, a dispatcher, or the name of a package, which need not be
    /// loaded yet.
    pub fn of(scope: Arg<'a>) -> Result<Reach<'a>> {
        if scope.is_null() {
            return Ok(Reach::All);
        }
        if Dispatcher::kind().is(scope.get()) {
            return Ok(Reach::Dispatcher(scope.handle()?));
        }
        let name = match (scope.kind(), Rf_xlength(scope.get())) {
            ("character", 1) => describe::text(scope.get(), 0),
            _ => None,
        };
        match name {
            Some(name) => Reach::package(name, scope.name()),
            None => Err(scope.expected("a Dispatcher, the name or the namespace of a package, or NULL")),
        }
    }

    /// The calls from the code of a package.
    pub(super) fn package(name: String, argument: &str) -> Result<Reach<'a>> {
        if !is_package_name(&name) {
            let expected = "the name of a package: letters, digits and dots, a letter first and no dot last";
            return Err(Fault::argument("value", argument, expected, format!("\"{name}\"")));
        }
        if PASSED_OVER.contains(&name.as_str()) {
            let expected = "a package with calls of its own";
            let got = format!("\"{name}\", whose calls count as those of the code that calls it");
            return Err(Fault::argument("value", argument, expected, got));
        }
        Ok(Reach::Package(name))
    }
}

/// What R takes for the name of a package.
fn is_package_name(name: &str) -> bool {
    let may_be = |c: char| c.is_ascii_alphanumeric() || c == '.';
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(may_be)
        && !name.ends_with('.')
}

/// The R function `function(passed_over)` that finds the package whose code calls.
static FINDER: MainThread<Cell<Option<SEXP>>> = MainThread::new(Cell::new(None));

/// Remembers the R function that finds the package whose code calls, for good.
pub fn set_finder(function: SEXP) -> Result<()> {
    // SAFETY: the function is an object of R that the caller keeps meanwhile.
    protect(|| unsafe { R_PreserveObject(function) })?;
    FINDER.get().set(Some(function));
    Ok(())
}

/// The package whose code calls; none for a script's.
#[cold]
pub(super) fn calling_package() -> Result<Option<String>> {
    let Some(finder) = FINDER.get().get() else { return Ok(None) };
    let passed_over = make::strings(&PASSED_OVER)?;
    let package = dispatcher::call(finder, &[passed_over.get()])?;
    Ok(if package.get() == nil() { None } else { describe::text(package.get(), 0) })
}
