//! Making R values.

use std::ffi::c_int;

use dispatch_runtime::Stats;

use crate::fault::Result;
use crate::ffi::*;
use crate::root::Root;

/// A string of R's cache.
///
/// # Safety
///
/// Inside [`protect`](crate::protect); the result is not protected.
pub(crate) unsafe fn charsxp(text: &str) -> SEXP {
    // R's strings end at 2^31 - 1 bytes and hold no NUL; it raises an error for the latter.
    let length = text.len().min(c_int::MAX as usize) as c_int;
    // SAFETY: the text has as many bytes.
    unsafe { Rf_mkCharLenCE(text.as_ptr().cast(), length, CE_UTF8) }
}

/// A character vector of length 1.
pub fn string(text: &str) -> Result<Root> {
    // SAFETY: the cached string is protected by the function that takes it.
    Root::make(|| unsafe { Rf_ScalarString(charsxp(text)) })
}

/// A character vector.
pub fn strings<T: AsRef<str>>(texts: &[T]) -> Result<Root> {
    // SAFETY: the vector is protected while its elements are made, and has room for them.
    Root::make(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, texts.len() as Length));
        for (i, text) in texts.iter().enumerate() {
            SET_STRING_ELT(out, i as Length, charsxp(text.as_ref()));
        }
        Rf_unprotect(1);
        out
    })
}

/// A character vector with `NA` where there is no text.
pub fn optional_strings(texts: &[Option<&str>]) -> Result<Root> {
    // SAFETY: the vector is protected while its elements are made, and has room for them.
    Root::make(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, texts.len() as Length));
        for (i, text) in texts.iter().enumerate() {
            SET_STRING_ELT(out, i as Length, text.map_or(R_NaString, |text| charsxp(text)));
        }
        Rf_unprotect(1);
        out
    })
}

/// `TRUE` or `FALSE`.
pub fn flag(value: bool) -> Result<Root> {
    // SAFETY: the function takes any number.
    Root::make(|| unsafe { Rf_ScalarLogical(value.into()) })
}

/// A logical vector.
pub fn flags(values: &[bool]) -> Result<Root> {
    // SAFETY: the vector has room for the values.
    Root::make(|| unsafe {
        let out = Rf_allocVector(LGLSXP, values.len() as Length);
        values.iter().enumerate().for_each(|(i, &value)| LOGICAL(out).add(i).write(value.into()));
        out
    })
}

/// A number.
pub fn double(value: f64) -> Result<Root> {
    // SAFETY: the function takes any number.
    Root::make(|| unsafe { Rf_ScalarReal(value) })
}

/// Numbers.
pub fn doubles(values: &[f64]) -> Result<Root> {
    // SAFETY: the vector has room for the values.
    Root::make(|| unsafe {
        let out = Rf_allocVector(REALSXP, values.len() as Length);
        values.iter().enumerate().for_each(|(i, &value)| REAL(out).add(i).write(value));
        out
    })
}

/// Whole numbers: an integer vector.
pub fn integers(values: std::ops::RangeInclusive<i32>) -> Result<Root> {
    let (first, length) = (*values.start(), values.clone().count());
    // SAFETY: the vector has room for as many numbers.
    Root::make(|| unsafe {
        let out = Rf_allocVector(INTSXP, length as Length);
        (0..length).for_each(|i| INTEGER(out).add(i).write(first + i as c_int));
        out
    })
}

/// `NA_real_`
pub fn na_real() -> f64 {
    // SAFETY: R sets the variable before any package is loaded, and never changes it.
    unsafe { R_NaReal }
}

/// Sizes or counts: an integer vector, or a double vector if one is too large for an integer.
pub fn sizes(values: &[i64]) -> Result<Root> {
    // SAFETY: inside `protect`.
    Root::make(|| unsafe { new_sizes(values) })
}

/// [`sizes`], not protected.
///
/// # Safety
///
/// Inside [`protect`](crate::protect).
pub(crate) unsafe fn new_sizes(values: &[i64]) -> SEXP {
    let fits = values.iter().all(|&value| c_int::try_from(value).is_ok());
    // SAFETY: the vectors have room for the values.
    unsafe {
        if fits {
            let out = Rf_allocVector(INTSXP, values.len() as Length);
            values.iter().enumerate().for_each(|(i, &value)| INTEGER(out).add(i).write(value as c_int));
            out
        } else {
            let out = Rf_allocVector(REALSXP, values.len() as Length);
            values.iter().enumerate().for_each(|(i, &value)| REAL(out).add(i).write(value as f64));
            out
        }
    }
}

/// A list without names of objects that something else keeps alive.
pub fn list(values: &[SEXP]) -> Result<Root> {
    // SAFETY: the list has room for the values.
    Root::make(|| unsafe {
        let out = Rf_allocVector(VECSXP, values.len() as Length);
        values.iter().enumerate().for_each(|(i, &value)| {
            SET_VECTOR_ELT(out, i as Length, value);
        });
        out
    })
}

/// A list with names of objects that something else keeps alive.
pub fn named_list(values: &[(&str, SEXP)]) -> Result<Root> {
    // SAFETY: list and names are protected until they are one object, and have room for the values.
    Root::make(|| unsafe {
        let out = Rf_protect(Rf_allocVector(VECSXP, values.len() as Length));
        let names = Rf_protect(Rf_allocVector(STRSXP, values.len() as Length));
        for (i, (name, value)) in values.iter().enumerate() {
            SET_VECTOR_ELT(out, i as Length, *value);
            SET_STRING_ELT(names, i as Length, charsxp(name));
        }
        Rf_setAttrib(out, R_NamesSymbol, names);
        Rf_unprotect(2);
        out
    })
}

/// What caches have done, added up.
pub fn stats(all: impl IntoIterator<Item = Stats>) -> Result<Root> {
    let mut sum = [0u64; 7];
    for Stats { hits, misses, compiles, loads, evictions, entries, bytes, .. } in all {
        let one = [hits, misses, compiles, loads, evictions, entries, bytes];
        sum.iter_mut().zip(one).for_each(|(sum, n)| *sum += n);
    }
    let [counts @ .., bytes] = sum;
    let names = ["hits", "misses", "compiles", "loads", "evictions", "entries", "bytes"];
    let mut values = counts.iter().map(|&n| sizes(&[n as i64])).collect::<Result<Vec<Root>>>()?;
    values.push(double(bytes as f64)?);
    named_list(&names.into_iter().zip(values.iter().map(Root::get)).collect::<Vec<_>>())
}

/// A character vector of length 1 that is never collected, to be shared: as a class, for instance.
pub fn shared_string(text: &str) -> Result<SEXP> {
    // SAFETY: the vector is protected until it is preserved.
    crate::protect(|| unsafe {
        let out = Rf_protect(Rf_ScalarString(charsxp(text)));
        MARK_NOT_MUTABLE(out);
        R_PreserveObject(out);
        Rf_unprotect(1);
        out
    })
}

/// Gives an object a class; the class vector may be shared.
pub fn set_class(value: SEXP, class: SEXP) -> Result<()> {
    // SAFETY: both are objects of R that the caller keeps alive.
    crate::protect(|| unsafe {
        Rf_setAttrib(value, R_ClassSymbol, class);
    })
}
