//! The way in from R.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

use crate::fault::{self, Fault, Result};
use crate::ffi::SEXP;
use crate::{main_thread, unwind};

/// Makes the calling thread R's thread; `raise` is the R function `function(code, message, argument)` that raises a
/// condition. Called when the package is loaded, before any [`entry`].
pub fn attach(raise: SEXP) -> savvy::Result<savvy::Sexp> {
    main_thread::attach();
    unwind::prepare();
    entry(|| {
        fault::set_raise(raise)?;
        Ok(crate::ffi::nil())
    })
}

/// Runs what an R function does.
///
/// A process that was forked, or another thread than R's, gets an error at once. A [`Fault`] is raised in R, with the
/// call of the user, and so is a panic. The result is for savvy's wrapper.
#[inline]
pub fn entry(body: impl FnOnce() -> Result<SEXP>) -> savvy::Result<savvy::Sexp> {
    match guarded(body) {
        Ok(value) => Ok(savvy::Sexp(value)),
        Err(fault) => Err(fault.raise()),
    }
}

#[inline]
fn guarded(body: impl FnOnce() -> Result<SEXP>) -> Result<SEXP> {
    main_thread::check()?;
    // savvy's hook, which its wrapper has just set, prints by R's functions, from whatever thread panics.
    set_hook(Box::new(hook));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

thread_local! {
    /// Where the last panic of this thread happened.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes the place of a panic on R's thread, where it becomes an error; tells of it elsewhere.
fn hook(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    if main_thread::check().is_ok() {
        PLACE.set(place);
        return;
    }
    let name = std::thread::current().name().unwrap_or("<unnamed>").to_owned();
    eprintln!("thread '{name}' panicked at {place}:\n{}", text(info.payload()));
}

#[cold]
fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let place = match PLACE.take() {
        place if place.is_empty() => String::new(),
        place => format!(" (at {place})"),
    };
    Fault::new("panic", format!("internal error: {}{place}", text(panic)))
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a text",
    }
}
