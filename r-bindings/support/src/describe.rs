//! R values in words, for messages.

use std::ffi::CStr;

use dispatch_runtime::Aval;

use crate::data::elements;
use crate::ffi::*;
use crate::string;
use crate::unwind::protect;

/// What an R value is: `NULL`, `a string`, `a double vector of length 3`, `a PJRTDevice`.
#[cold]
pub fn value(x: SEXP) -> String {
    if let Some(class) = class(x) {
        return with_article(&class);
    }
    let length = Rf_xlength(x);
    let vector = |kind: &str| match length {
        1 => with_article(&format!("{kind} value")),
        n => format!("{} vector of length {n}", with_article(kind)),
    };
    match TYPEOF(x) {
        NILSXP => "NULL".into(),
        LGLSXP | INTSXP | REALSXP if length == 1 && is_na(x) => "NA".into(),
        LGLSXP => vector("logical"),
        INTSXP => vector("integer"),
        REALSXP => vector("double"),
        CPLXSXP => vector("complex"),
        RAWSXP => vector("raw"),
        STRSXP if length == 1 && is_na(x) => "NA".into(),
        // SAFETY: the vector has an element, which was made if it had to be.
        STRSXP if length == 1 && text(x, 0).is_none() => string::no_text(unsafe { STRING_ELT(x, 0) }).into(),
        STRSXP if length == 1 => "a string".into(),
        STRSXP => vector("character"),
        VECSXP => format!("a list of length {length}"),
        CLOSXP | SPECIALSXP | BUILTINSXP => "a function".into(),
        ENVSXP => "an environment".into(),
        SYMSXP => "a symbol".into(),
        LANGSXP => "a call".into(),
        EXTPTRSXP => "an external pointer".into(),
        _ => "another kind of object".into(),
    }
}

fn is_na(x: SEXP) -> bool {
    // SAFETY: the types are those of the vectors, which live during the call.
    unsafe {
        match TYPEOF(x) {
            LGLSXP | INTSXP => elements::<i32>(x).is_ok_and(|x| x == [NA_INTEGER]),
            STRSXP => elements::<SEXP>(x).is_ok_and(|x| x == [R_NaString]),
            REALSXP => elements::<f64>(x).is_ok_and(|x| x.first().is_some_and(|&x| R_IsNA(x) != 0)),
            _ => false,
        }
    }
}

/// The only element of an integer vector of any class that is not `NA`.
pub fn whole_number(x: SEXP) -> Option<i32> {
    if TYPEOF(x) != INTSXP {
        return None;
    }
    // SAFETY: the vector has integers, and lives during the call.
    match unsafe { elements::<i32>(x) } {
        Ok(&[value]) if value != NA_INTEGER => Some(value),
        _ => None,
    }
}

/// Whether an object's class attribute names this class, which is in ASCII.
#[inline]
pub fn has_class(x: SEXP, class: &str) -> bool {
    // SAFETY: reading the class attribute does not allocate.
    let classes = unsafe { Rf_getAttrib(x, R_ClassSymbol) };
    (0..if TYPEOF(classes) == STRSXP { Rf_xlength(classes) } else { 0 }).any(|i| {
        // SAFETY: the vector has the element, which ends in NUL. A class attribute is not in a compact form.
        unsafe { CStr::from_ptr(R_CHAR(STRING_ELT(classes, i))) }.to_bytes() == class.as_bytes()
    })
}

/// The first class of an object that has a class attribute.
pub fn class(x: SEXP) -> Option<String> {
    if Rf_isObject(x) == 0 {
        return None;
    }
    // SAFETY: reading the class attribute of an object.
    let class = protect(|| unsafe { Rf_getAttrib(x, R_ClassSymbol) }).ok()?;
    text(class, 0)
}

/// An element of a character vector in UTF-8; none if it is `NA` or no text, or there is none.
pub fn text(x: SEXP, i: Length) -> Option<String> {
    if TYPEOF(x) != STRSXP || i >= Rf_xlength(x) {
        return None;
    }
    // SAFETY: the vector has the element. One in a compact form makes it now, and keeps it.
    let element =
        unsafe { if ALTREP(x) != 0 { protect(|| STRING_ELT(x, i)).ok()? } else { STRING_ELT(x, i) } };
    // SAFETY: reading a variable of R.
    if element == unsafe { R_NaString } {
        return None;
    }
    // SAFETY: the element is a string of the vector, and copied here.
    unsafe { string::utf8(element) }.ok().flatten().map(str::to_owned)
}

/// `1 input`, `2 inputs`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `a PJRTBuffer`, `an RTree`.
pub fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O'])
        || (noun.starts_with('R') && noun[1..].starts_with(|c: char| c.is_uppercase()));
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// What an array is to be: `f32[2,3]`.
#[cold]
pub fn aval(aval: &Aval) -> String {
    format!("{}[{}]", aval.dtype(), first(aval.shape(), ","))
}

/// `(2, 3)`: a shape as it is given in R.
#[cold]
pub fn sizes(shape: &[i64]) -> String {
    format!("({})", first(shape, ", "))
}

/// The sizes of a shape. What is taken for one by mistake may have millions of them: then only the first are told.
pub(crate) fn first(shape: &[i64], between: &str) -> String {
    const MOST: usize = 32;
    let shown = if shape.len() > MOST { &shape[..MOST / 4] } else { shape };
    let mut sizes: Vec<String> = shown.iter().map(ToString::to_string).collect();
    if shown.len() < shape.len() {
        sizes.push(format!("... {} in all", shape.len()));
    }
    sizes.join(between)
}
