//! The way in from R.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::Once;

use crate::fault::{self, Fault, Result};
use crate::ffi::SEXP;
use crate::{main_thread, printing, unwind};

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
/// call of the user, and so is a panic. What programs have printed meanwhile is shown before R goes on. The result is
/// for savvy's wrapper.
#[inline]
pub fn entry(body: impl FnOnce() -> Result<SEXP>) -> savvy::Result<savvy::Sexp> {
    match guarded(body) {
        Ok(value) => Ok(savvy::Sexp(value)),
        Err(fault) => Err(fault.raise()),
    }
}

/// [`entry`] for a function that R calls without savvy's wrapper: a value, or a token with its lowest bit set, where the
/// C function in between has to continue R's jump.
#[inline]
pub(crate) fn direct(body: impl FnOnce() -> Result<SEXP>) -> SEXP {
    match main_thread::check().and_then(|()| printing::after(caught(body))) {
        Ok(value) => value,
        Err(fault) => raised(fault),
    }
}

/// Turns a panic into a fault.
#[inline]
pub(crate) fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Set once; savvy's wrappers put back what they find.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| set_hook(Box::new(hook)));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

#[cold]
fn raised(fault: Fault) -> SEXP {
    match fault.raise() {
        savvy::Error::Aborted(token) => token,
        // Without the function that raises, which is there since the package was loaded.
        _ => crate::ffi::nil(),
    }
}

#[inline]
fn guarded(body: impl FnOnce() -> Result<SEXP>) -> Result<SEXP> {
    main_thread::check()?;
    // savvy's hook, which its wrapper has just set, prints by R's functions, from whatever thread panics.
    set_hook(Box::new(hook));
    printing::after(catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic))))
}

thread_local! {
    /// Where the last panic of this thread happened.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether the panics of this thread are carried to R's.
    static CARRIED: Cell<bool> = const { Cell::new(false) };
}

/// The panics of this thread are carried to R's thread, with their places.
pub(crate) fn note_places() {
    CARRIED.set(true);
}

/// Where the last panic of this thread happened, for [`set_place`] on R's.
pub(crate) fn take_place() -> String {
    PLACE.take()
}

/// A panic that another thread had goes on on this one.
pub(crate) fn set_place(place: String) {
    PLACE.set(place);
}

/// Notes the place of a panic that becomes an error on R's thread; tells of any other.
fn hook(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    if CARRIED.get() || main_thread::check().is_ok() {
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
