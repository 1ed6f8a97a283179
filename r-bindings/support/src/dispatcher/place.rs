//! Where a call runs, and what R functions say of it.

use dispatch_runtime::{DType, Device};

use super::call::Wrong;
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle};
use crate::root::Root;
use crate::statics;
use crate::unwind::protect;

/// Where a call runs.
pub(super) enum Place {
    /// Nothing has said so yet.
    Unknown,
    /// A device of ours.
    Device(Device),
    /// What another backend calls a device.
    Object(Root),
}

/// Calls an R function with these arguments, which the caller keeps alive.
///
/// They must be values: what R would evaluate, a symbol or a call, is quoted first by nobody.
#[inline]
pub(super) fn call(function: SEXP, arguments: &[SEXP]) -> Result<Root> {
    // SAFETY: the call is protected while it is made and evaluated.
    Root::make(|| unsafe {
        let mut pairs = Rf_protect(R_NilValue);
        for &argument in arguments.iter().rev() {
            let longer = Rf_protect(Rf_cons(argument, pairs));
            // Protects the longer list in place of the shorter one.
            Rf_unprotect(2);
            pairs = Rf_protect(longer);
        }
        let call = Rf_protect(Rf_lcons(function, pairs));
        let value = Rf_eval(call, R_GlobalEnv);
        Rf_unprotect(2);
        value
    })
}

/// The device that `default_device` gave.
pub(super) fn pjrt_device(x: SEXP) -> Result<Device> {
    if !Device::kind().is(x) {
        return Err(Fault::argument(
            "type",
            "default_device",
            "a function that gives a PJRTDevice",
            describe::value(x),
        ));
    }
    // SAFETY: the caller keeps the object.
    unsafe { handle::get::<Device>(x, "default_device") }.copied()
}

/// Whether two devices of another backend are one: the same object, or identical ones.
pub(super) fn same_device(a: SEXP, b: SEXP) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    let (mut words_a, mut words_b) = (Vec::new(), Vec::new());
    statics::encode(a, &mut words_a)?;
    statics::encode(b, &mut words_b)?;
    Ok(words_a == words_b)
}

/// A device of another backend for messages.
pub(super) fn device_text(x: SEXP) -> String {
    match describe::text(x, 0) {
        Some(text) => text,
        None => describe::value(x),
    }
}

/// What an `extractor` says of an array.
pub(super) struct Extracted {
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub device: SEXP,
    pub backend: String,
    /// Keeps the device.
    _list: Root,
}

/// Asks the `extractor` about an array.
pub(super) fn extract(extractor: SEXP, x: SEXP) -> Result<Extracted, Box<Wrong>> {
    let list = call(extractor, &[x]).map_err(Wrong::fault)?;
    let wrong = |field: &str, expected: &str, got: String| {
        Wrong::new("extractor", format!("the extractor to give {expected} as {field}"), got)
    };
    let top = list.get();
    if TYPEOF(top) != VECSXP {
        return Err(wrong("its result", "a list of aval, device and backend", describe::value(top)));
    }
    let aval = field(top, "aval").unwrap_or(nil());
    if TYPEOF(aval) != VECSXP {
        return Err(wrong("`aval`", "a list of dtype and shape", describe::value(aval)));
    }
    let dtype = field(aval, "dtype").unwrap_or(nil());
    let Some(dtype) = read_dtype(dtype).map_err(Wrong::fault)? else {
        return Err(wrong("`aval$dtype`", "a DataType", describe_dtype(dtype)));
    };
    let shape = field(aval, "shape").unwrap_or(nil());
    let Some(shape) = read_shape(shape) else {
        return Err(wrong("`aval$shape`", "sizes", describe::value(shape)));
    };
    let backend = field(top, "backend").unwrap_or(nil());
    let Some(name) = describe::text(backend, 0) else {
        return Err(wrong("`backend`", "a string", describe::value(backend)));
    };
    let Some(device) = field(top, "device") else {
        return Err(wrong("`device`", "a device", "nothing".into()));
    };
    Ok(Extracted { dtype, shape, device, backend: name, _list: list })
}

/// The field of a list with this name.
pub(super) fn field(list: SEXP, name: &str) -> Option<SEXP> {
    // SAFETY: reading the names of a list does not allocate; it has as many elements, and R's strings end in NUL.
    unsafe {
        let names = Rf_getAttrib(list, R_NamesSymbol);
        if TYPEOF(names) != STRSXP {
            return None;
        }
        let equal = |&i: &Length| {
            std::ffi::CStr::from_ptr(R_CHAR(STRING_ELT(names, i))).to_bytes() == name.as_bytes()
        };
        (0..Rf_xlength(list)).find(equal).map(|i| VECTOR_ELT(list, i))
    }
}

/// A dtype by its name, or as an object that `as.character()` makes a name.
pub(super) fn read_dtype(x: SEXP) -> Result<Option<DType>> {
    let named = |x: SEXP| match Rf_xlength(x) {
        1 => describe::text(x, 0).and_then(|name| name.parse().ok()),
        _ => None,
    };
    if TYPEOF(x) == STRSXP {
        return Ok(named(x));
    }
    if Rf_isObject(x) == 0 {
        return Ok(None);
    }
    // SAFETY: the function is one of R's, which it keeps.
    let function = protect(|| unsafe { Rf_eval(Rf_install(c"as.character".as_ptr()), R_BaseEnv) })?;
    Ok(named(call(function, &[x])?.get()))
}

pub(super) fn describe_dtype(x: SEXP) -> String {
    match describe::text(x, 0) {
        Some(name) => format!("\"{name}\""),
        None => describe::value(x),
    }
}

/// Sizes: whole numbers that are not negative.
pub(super) fn read_shape(x: SEXP) -> Option<Vec<i64>> {
    let argument = savvy::Sexp(x);
    crate::arg(&argument, "shape").shape().ok()
}
