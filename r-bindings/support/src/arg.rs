//! Arguments of R functions.

use std::ffi::c_int;

use dispatch_runtime::DType;

use crate::data::elements;
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle};
use crate::string;

/// An argument of an R function with its name, for messages.
///
/// R keeps arguments alive until the call returns.
#[derive(Clone, Copy)]
pub struct Arg<'a> {
    value: &'a savvy::Sexp,
    name: &'a str,
}

/// An argument of a savvy function.
#[inline(always)]
pub fn arg<'a>(value: &'a savvy::Sexp, name: &'a str) -> Arg<'a> {
    Arg { value, name }
}

impl<'a> Arg<'a> {
    /// The value.
    #[inline(always)]
    pub fn get(self) -> SEXP {
        self.value.0
    }

    /// The name.
    #[inline(always)]
    pub fn name(self) -> &'a str {
        self.name
    }

    /// Whether it is `NULL`.
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.get() == nil()
    }

    /// Nothing if it is `NULL`, else the argument.
    #[inline]
    pub fn optional(self) -> Option<Arg<'a>> {
        (!self.is_null()).then_some(self)
    }

    /// The error that it is something else than expected.
    #[cold]
    pub fn expected(self, what: impl std::fmt::Display) -> Fault {
        Fault::argument("type", self.name, what, describe::value(self.get()))
    }

    /// A handle of this kind.
    #[inline]
    pub fn handle<T: Handle>(self) -> Result<&'a T> {
        // SAFETY: R keeps the argument alive as long as `self` is borrowed.
        unsafe { handle::get(self.get(), self.name) }
    }

    /// A string.
    pub fn string(self) -> Result<String> {
        match Rf_xlength(self.get()) {
            1 => describe::text(self.get(), 0),
            _ => None,
        }
        .ok_or_else(|| self.expected("a string"))
    }

    /// Strings without `NA`.
    pub fn strings(self) -> Result<Vec<String>> {
        let x = self.get();
        if TYPEOF(x) != STRSXP {
            return Err(self.expected("a character vector"));
        }
        (0..Rf_xlength(x))
            .map(|i| {
                describe::text(x, i).ok_or_else(|| {
                    // SAFETY: the vector has the element, which was made if it had to be.
                    let string = unsafe { STRING_ELT(x, i) };
                    // SAFETY: reading a variable of R.
                    let got = if string == unsafe { R_NaString } { "NA" } else { string::no_text(string) };
                    Fault::argument("value", self.name, "strings", format!("{got} as element {}", i + 1))
                })
            })
            .collect()
    }

    /// `TRUE` or `FALSE`.
    #[inline]
    pub fn flag(self) -> Result<bool> {
        let x = self.get();
        if TYPEOF(x) == LGLSXP {
            // SAFETY: R keeps the argument; its elements are integers to C.
            match unsafe { elements::<c_int>(x)? } {
                [NA_INTEGER] => {}
                [value] => return Ok(*value != 0),
                _ => {}
            }
        }
        Err(self.expected("TRUE or FALSE"))
    }

    /// The bytes of a raw vector.
    pub fn bytes(self) -> Result<&'a [u8]> {
        let x = self.get();
        if TYPEOF(x) != RAWSXP {
            return Err(self.expected("a raw vector"));
        }
        // SAFETY: the vector has as many bytes, and R keeps the argument.
        unsafe { elements(x) }
    }

    /// Whole numbers, given as integers or doubles.
    pub fn integers(self) -> Result<Vec<i64>> {
        let x = self.get();
        let wrong = |i: usize, got: String| {
            Fault::argument("value", self.name, "whole numbers", format!("{got} as element {}", i + 1))
        };
        if Rf_isObject(x) == 0 && TYPEOF(x) == INTSXP {
            // SAFETY: the vector has as many elements.
            let values = unsafe { elements::<c_int>(x)? };
            let whole = |(i, &value): (usize, &c_int)| match value {
                NA_INTEGER => Err(wrong(i, "NA".into())),
                value => Ok(value.into()),
            };
            return values.iter().enumerate().map(whole).collect();
        }
        if Rf_isObject(x) == 0 && TYPEOF(x) == REALSXP {
            // SAFETY: the vector has as many elements.
            let values = unsafe { elements::<f64>(x)? };
            let whole = |(i, &value): (usize, &f64)| {
                // Beyond 2^53 not every whole number is a double.
                let fits = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
                if fits { Ok(value as i64) } else { Err(wrong(i, number(value))) }
            };
            return values.iter().enumerate().map(whole).collect();
        }
        Err(self.expected("whole numbers"))
    }

    /// One whole number.
    pub fn integer(self) -> Result<i64> {
        match Rf_xlength(self.get()) {
            1 => Ok(self.integers()?[0]),
            _ => Err(self.expected("a whole number")),
        }
    }

    /// A number.
    pub fn double(self) -> Result<f64> {
        let x = self.get();
        match TYPEOF(x) {
            // SAFETY: the vector has one element.
            REALSXP if Rf_xlength(x) == 1 => Ok(unsafe { elements::<f64>(x)? }[0]),
            INTSXP => self.integer().map(|value| value as f64),
            _ => Err(self.expected("a number")),
        }
    }

    /// The type in R's words, as `typeof()` gives it, of a value without a class; else `object`.
    pub fn kind(self) -> &'static str {
        if Rf_isObject(self.get()) != 0 {
            return "object";
        }
        match TYPEOF(self.get()) {
            NILSXP => "NULL",
            LGLSXP => "logical",
            INTSXP => "integer",
            REALSXP => "double",
            CPLXSXP => "complex",
            RAWSXP => "raw",
            STRSXP => "character",
            VECSXP => "list",
            CLOSXP | SPECIALSXP | BUILTINSXP => "function",
            ENVSXP => "environment",
            _ => "other",
        }
    }

    /// The elements of a list, which R keeps alive with it.
    pub fn elements(self) -> Result<Vec<SEXP>> {
        let x = self.get();
        if TYPEOF(x) != VECSXP {
            return Err(self.expected("a list"));
        }
        // SAFETY: the list has the elements.
        Ok((0..Rf_xlength(x)).map(|i| unsafe { VECTOR_ELT(x, i) }).collect())
    }

    /// The elements of a list in which each has a name.
    pub fn named_elements(self) -> Result<Vec<(String, Element<'a>)>> {
        let x = self.get();
        if TYPEOF(x) != VECSXP {
            return Err(self.expected("a list"));
        }
        // SAFETY: reading the names of a list does not allocate.
        let names = unsafe { Rf_getAttrib(x, R_NamesSymbol) };
        (0..Rf_xlength(x))
            .map(|i| {
                let name = describe::text(names, i).filter(|name| !name.is_empty()).ok_or_else(|| {
                    Fault::argument(
                        "value",
                        self.name,
                        "names for all elements",
                        format!("none for element {}", i + 1),
                    )
                })?;
                // SAFETY: the list has the element.
                let value = savvy::Sexp(unsafe { VECTOR_ELT(x, i) });
                Ok((name, Element { value, list: std::marker::PhantomData }))
            })
            .collect()
    }

    /// The sizes of an array: whole numbers that are not negative.
    pub fn shape(self) -> Result<Vec<i64>> {
        let shape = self.integers()?;
        match shape.iter().position(|&size| size < 0) {
            None => Ok(shape),
            Some(i) => Err(Fault::argument(
                "value",
                self.name,
                "sizes that are not negative",
                format!("{} as element {}", shape[i], i + 1),
            )),
        }
    }

    /// An element type by its name, given as a string of any class.
    #[inline]
    pub fn dtype(self) -> Result<DType> {
        let dtype = self.string_ref().and_then(|name| match name {
            // What StableHLO and XLA call it.
            "i1" | "pred" => Some(DType::Bool),
            name => name.parse().ok(),
        });
        dtype.map_or_else(|| self.unknown_dtype(), Ok)
    }

    #[cold]
    fn unknown_dtype(self) -> Result<DType> {
        let name = match Rf_xlength(self.get()) {
            1 => describe::text(self.get(), 0),
            _ => None,
        };
        let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.r_name()).collect();
        let got = name.map_or_else(|| describe::value(self.get()), |name| format!("\"{name}\""));
        Err(Fault::argument("unknown_dtype", self.name, format!("one of {}", names.join(", ")), got))
    }

    /// A string in ASCII, without a copy; none if it is something else, or has to be made first.
    #[inline]
    pub fn string_ref(self) -> Option<&'a str> {
        let x = self.get();
        if TYPEOF(x) != STRSXP || Rf_xlength(x) != 1 || ALTREP(x) != 0 {
            return None;
        }
        // SAFETY: the vector has one element, a string that ends in NUL and that R keeps alive with the argument.
        let text = unsafe { std::ffi::CStr::from_ptr(R_CHAR(STRING_ELT(x, 0))) };
        text.to_str().ok().filter(|text| text.is_ascii())
    }
}

/// An element of a list that is an argument.
pub struct Element<'a> {
    value: savvy::Sexp,
    list: std::marker::PhantomData<&'a savvy::Sexp>,
}

impl<'a> Element<'a> {
    /// The element as an argument with this name.
    pub fn arg<'b>(&'b self, name: &'b str) -> Arg<'b>
    where
        'a: 'b,
    {
        Arg { value: &self.value, name }
    }
}

/// A number as R writes it.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if R_IsNA(value) != 0 => "NA".into(),
        value if value == f64::INFINITY => "Inf".into(),
        value if value == f64::NEG_INFINITY => "-Inf".into(),
        // R's own notation from there on.
        value if value.abs() >= 1e15 => {
            let text = format!("{value:e}");
            if text.contains("e-") { text } else { text.replacen('e', "e+", 1) }
        }
        value => value.to_string(),
    }
}

/// The elements of a vector.
///
/// # Safety
///
/// `data` points to `length` elements that live and do not change for `'a`, unless `length` is 0: R's empty vectors
/// have no address.
#[inline]
pub(crate) unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    match length {
        0 => &[],
        // SAFETY: by the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(data, length) },
    }
}
