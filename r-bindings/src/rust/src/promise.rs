//! Promises: buffers on their way to R.

use dispatch_r::buffer::{self, wait};
use dispatch_r::runtime::Array;
use dispatch_r::{arg, as_array, entry, make, wrap, Fault, Handle, Kind};
use savvy::savvy;

/// An array that will be read.
pub struct Promise(Array);

impl Handle for Promise {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTArrayPromise", "pjrtdispatch promise 1");
        &KIND
    }
}

#[savvy]
fn rs_promise(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| wrap(Promise(buffer::get(arg(&x, "x"))?)))
}

#[savvy]
fn rs_promise_value(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| as_array(&arg(&x, "x").handle::<Promise>()?.0, false, "x"))
}

#[savvy]
fn rs_promise_await(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        wait(&arg(&x, "x").handle::<Promise>()?.0, "x")?;
        Ok(x.0)
    })
}

#[savvy]
fn rs_promise_is_ready(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let promise: &Promise = arg(&x, "x").handle()?;
        let ready = promise.0.is_ready().map_err(|error| Fault::named(error, "x"))?;
        Ok(make::flag(ready)?.release())
    })
}

#[savvy]
fn rs_promise_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::string(&arg(&x, "x").handle::<Promise>()?.0.to_string())?.release()))
}
