//! Where a call runs, and what R functions say of it.

use dispatch_runtime::{DType, Device};

use super::call::Call;
use super::wrong::Wrong;
use crate::anvl::{Atoms, strings};
use crate::data::list_names;
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
    /// What another backend calls a device, and what keeps it.
    Object { device: SEXP, _kept: Root },
}

impl Call<'_> {
    /// The device of the call becomes part of the key.
    #[inline]
    pub fn device(&mut self) -> Result<()> {
        if let Place::Unknown = self.place {
            self.ask_default_device()?;
        }
        match &self.place {
            Place::Device(device) => {
                let engine = std::ptr::from_ref(device.client().engine()).cast::<()>();
                self.scratch.words.push(engine as u64);
                self.scratch.words.push(device.index().into());
                Ok(())
            }
            Place::Object { device, .. } => statics::encode(*device, &mut self.scratch.words),
            Place::Unknown => Ok(()),
        }
    }

    fn ask_default_device(&mut self) -> Result<()> {
        let device = call(self.dispatcher.callbacks.default_device, &[])?;
        self.place = match self.dispatcher.is_pjrt {
            true => Place::Device(pjrt_device(device.get())?),
            false => Place::Object { device: device.get(), _kept: Root::new(device.get())? },
        };
        self.default_device = Some(device);
        Ok(())
    }

    pub fn ask_context(&mut self) -> Result<()> {
        let context = call(self.dispatcher.callbacks.context, &[])?;
        let x = context.get();
        let wrong = |got: String| {
            Fault::argument("value", "context", "a function that gives a character vector without NA", got)
        };
        if TYPEOF(x) != STRSXP {
            return Err(wrong(describe::value(x)));
        }
        for i in 0..Rf_xlength(x) {
            // SAFETY: the vector has the element; R makes it now if it has not yet.
            if protect(|| unsafe { STRING_ELT(x, i) == R_NaString })? {
                return Err(wrong(format!("NA as element {}", i + 1)));
            }
        }
        statics::encode(x, &mut self.scratch.words)?;
        self.context = Some(context);
        Ok(())
    }
}

/// Calls an R function with these arguments, which the caller keeps alive.
///
/// They must be values: what R would evaluate, a symbol or a call, is quoted first by nobody.
#[inline]
pub(crate) fn call(function: SEXP, arguments: &[SEXP]) -> Result<Root> {
    // SAFETY: the call is protected while it is made and evaluated.
    Root::make(|| unsafe {
        // R's `cons` protects what it gets.
        let mut pairs = R_NilValue;
        for &argument in arguments.iter().rev() {
            pairs = Rf_cons(argument, pairs);
        }
        let call = Rf_protect(Rf_lcons(function, pairs));
        let value = Rf_eval(call, R_GlobalEnv);
        Rf_unprotect(1);
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
    pub shape: SEXP,
    pub device: SEXP,
    pub backend: SEXP,
    /// Keeps all that.
    pub list: Root,
}

/// Asks the `extractor` about an array.
#[inline]
pub(super) fn extract(atoms: &Atoms, extractor: SEXP, x: SEXP) -> Result<Extracted, Box<Wrong>> {
    let list = call(extractor, &[x]).map_err(Wrong::fault)?;
    let top = list.get();
    if TYPEOF(top) != VECSXP {
        return Err(wrong("its result", "a list of aval, device and backend", top));
    }
    let [aval, backend, device] = elements_of(top, [atoms.aval, atoms.backend, atoms.device]);
    let (aval, backend) = (aval.unwrap_or(nil()), backend.unwrap_or(nil()));
    if TYPEOF(aval) != VECSXP {
        return Err(wrong("`aval`", "a list of dtype and shape", aval));
    }
    let [named, shape] = elements_of(aval, [atoms.dtype, atoms.shape]).map(|x| x.unwrap_or(nil()));
    let Some(dtype) = dtype(atoms, named).map_err(Wrong::fault)? else {
        return Err(wrong("`aval$dtype`", "a DataType", named));
    };
    if TYPEOF(backend) != STRSXP || Rf_xlength(backend) != 1 {
        return Err(wrong("`backend`", "a string", backend));
    }
    let Some(device) = device else {
        return Err(wrong("`device`", "a device", nil()));
    };
    Ok(Extracted { dtype, shape, device, backend, list })
}

#[cold]
pub(super) fn wrong(field: &str, expected: &str, got: SEXP) -> Box<Wrong> {
    let expected = format!("the extractor to give {expected} as {field}");
    Wrong::new("extractor", expected, describe_dtype(got))
}

/// The elements of a list with these names, strings of R's cache in ASCII; the first of equal ones.
#[inline(always)]
pub(super) fn elements_of<const N: usize>(list: SEXP, wanted: [SEXP; N]) -> [Option<SEXP>; N] {
    let mut found = [None; N];
    // SAFETY: the list keeps its names.
    let names = unsafe { strings(list_names(list)) }.unwrap_or_default();
    for (i, &name) in names.iter().enumerate().rev() {
        for (found, &wanted) in found.iter_mut().zip(&wanted) {
            if name == wanted {
                // SAFETY: the list has as many elements as names.
                *found = Some(unsafe { VECTOR_ELT(list, i as Length) });
            }
        }
    }
    found
}

/// A dtype that R code names; nothing if it is none.
#[inline]
pub(super) fn dtype(atoms: &Atoms, x: SEXP) -> Result<Option<DType>> {
    known_dtype(atoms, x).map_or_else(|| read_dtype(x), |dtype| Ok(Some(dtype)))
}

/// A dtype by its usual name.
#[inline]
fn known_dtype(atoms: &Atoms, x: SEXP) -> Option<DType> {
    if TYPEOF(x) != STRSXP || Rf_xlength(x) != 1 {
        return None;
    }
    // SAFETY: the vector has the element.
    let name = unsafe { STRING_ELT(x, 0) };
    atoms.dtypes.iter().position(|&known| known == name).map(|i| DType::ALL[i])
}

/// A dtype by its name, or as an object that `as.character()` makes a name.
fn read_dtype(x: SEXP) -> Result<Option<DType>> {
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
        Some(name) if Rf_xlength(x) == 1 => format!("\"{name}\""),
        _ => describe::value(x),
    }
}

/// Sizes: whole numbers that are not negative.
pub(super) fn read_shape(x: SEXP) -> Option<Vec<i64>> {
    let argument = savvy::Sexp(x);
    crate::arg(&argument, "shape").shape().ok()
}
