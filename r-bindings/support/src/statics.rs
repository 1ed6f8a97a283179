//! Static values: R values as words of a cache key.
//!
//! One traversal writes a value's words, and two values are one key exactly if the words are equal, so hash and equality
//! cannot disagree (see [`runtime::key`](dispatch_runtime::key)). The words say what `identical(num.eq = FALSE)` compares:
//!
//! * numbers bit by bit, but all `NA` of one type are alike, and all other NaN; an `integer64` by its 64 bits, wherever
//!   it stands (here we are finer than `identical()`, which takes -1 and -2 for one: as doubles they are NaN);
//! * strings by content, whatever their encoding;
//! * attributes as a set;
//! * closures by formals, body and environment, without byte code and source references;
//! * environments, pointers and the like by identity: whoever stores the words keeps such objects alive, so that no
//!   other object comes to lie at the same address.
//!
//! The words are prefix-free: each value begins with a word that has its type and length.

use std::ffi::{CStr, c_int, c_uint};

use arrayvec::ArrayVec;
use dispatch_runtime::key::Sink;

use crate::arg::slice;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::string::{self, Text};
use crate::unwind::check_stack;

/// Where the words go.
pub trait Words {
    /// Takes one word.
    fn word(&mut self, word: u64);
}

impl Words for Sink<'_> {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        Sink::word(self, word);
    }
}

impl Words for Vec<u64> {
    #[inline]
    fn word(&mut self, word: u64) {
        self.push(word);
    }
}

/// Writes an R value.
///
/// # Errors
///
/// A value that is nested too deeply; what R raises where it has to make an element that it has not made yet.
#[inline]
pub fn encode(x: SEXP, words: &mut impl Words) -> Result<()> {
    // The usual case: one number or string without attributes.
    // SAFETY: reading the attributes; the vectors have one element.
    unsafe {
        if Rf_isObject(x) == 0 && ATTRIB(x) == nil() && ALTREP(x) == 0 {
            match TYPEOF(x) {
                kind @ REALSXP if Rf_xlength(x) == 1 => {
                    words.word(head(kind, 0, 1));
                    words.word(double(*REAL_RO(x)));
                    return Ok(());
                }
                kind @ (INTSXP | LGLSXP) if Rf_xlength(x) == 1 => {
                    words.word(head(kind, 0, 1));
                    words.word(u64::from(*INTEGER_OR_LOGICAL(x) as u32));
                    return Ok(());
                }
                kind @ STRSXP if Rf_xlength(x) == 1 => {
                    words.word(head(kind, 0, 1));
                    return encode_string(STRING_ELT(x, 0), words);
                }
                _ => {}
            }
        }
    }
    Traversal { words, depth: 0, in_function: false }.value(x)
}

/// Writes a string: a length and the bytes in UTF-8.
#[inline]
pub fn encode_string(x: SEXP, words: &mut impl Words) -> Result<()> {
    // SAFETY: reading a variable of R.
    if x == unsafe { R_NaString } {
        words.word(NA_STRING);
        return Ok(());
    }
    let (flag, bytes) = string_bytes(x)?;
    encode_bytes(flag, bytes, words);
    Ok(())
}

/// Writes what [`string_bytes`] gives.
#[inline]
pub(crate) fn encode_bytes(flag: u64, bytes: &[u8], words: &mut impl Words) {
    words.word(bytes.len() as u64 | flag);
    bytes_packed(bytes, words);
}

/// The bytes of a string in UTF-8, and a flag in the highest bits that tells bytes apart that are no text.
#[inline]
pub(crate) fn string_bytes<'a>(x: SEXP) -> Result<(u64, &'a [u8])> {
    // SAFETY: a string of R lives as long as what it was read from.
    Ok(match unsafe { string::read(x)? } {
        Text::Utf8(bytes) => (0, bytes),
        Text::Bytes(bytes) => (BYTES_STRING, bytes),
        Text::Invalid(bytes) => (INVALID_STRING, bytes),
    })
}

const NA_STRING: u64 = u64::MAX;
const BYTES_STRING: u64 = 1 << 62;
const INVALID_STRING: u64 = 1 << 61;

/// What the first word of a value says beside its type and length.
const ATTRIBUTES: u64 = 1 << 8;
const OBJECT: u64 = 1 << 9;
const S4: u64 = 1 << 10;
const INTEGER64: u64 = 1 << 11;

/// How deep values may be nested. R's own stack ends not far from there.
const DEPTH: u32 = 2000;

#[inline(always)]
fn head(kind: c_uint, flags: u64, length: usize) -> u64 {
    u64::from(kind) | flags | (length as u64) << 16
}

/// The bits of a double, with one pattern for all `NA` and one for all other NaN.
#[inline(always)]
fn double(x: f64) -> u64 {
    match x.is_nan() {
        false => x.to_bits(),
        // R marks its NA by the low half of the word, and so compares it.
        true if x.to_bits() as u32 == 1954 => 0x7ff0_0000_0000_07a2,
        true => f64::NAN.to_bits(),
    }
}

#[inline]
fn bytes_packed(bytes: &[u8], words: &mut impl Words) {
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        words.word(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
    }
    if !rest.is_empty() {
        words.word(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
}

struct Traversal<'a, W> {
    words: &'a mut W,
    depth: u32,
    /// Inside a closure source references do not count.
    in_function: bool,
}

impl<W: Words> Traversal<'_, W> {
    fn value(&mut self, x: SEXP) -> Result<()> {
        if self.depth == DEPTH {
            return Err(Fault::new("value", format!("a value is nested more than {DEPTH} levels deep")));
        }
        check_stack(self.depth)?;
        self.depth += 1;
        self.node(x)?;
        self.depth -= 1;
        Ok(())
    }

    fn node(&mut self, x: SEXP) -> Result<()> {
        let kind = TYPEOF(x);
        // Symbols and byte code have none that count; what R keeps there for strings is its own affair.
        let attributes = match kind {
            NILSXP | SYMSXP | BCODESXP | CHARSXP => ArrayVec::new(),
            _ => self.attributes(x)?,
        };
        let mut flags = if attributes.is_empty() { 0 } else { ATTRIBUTES };
        if Rf_isObject(x) != 0 {
            flags |= OBJECT;
        }
        // SAFETY: reading a flag.
        if unsafe { IS_S4_OBJECT(x) } != 0 {
            flags |= S4;
        }
        match kind {
            NILSXP => self.words.word(head(kind, 0, 0)),
            LGLSXP | INTSXP => {
                let data = data::<u32>(x)?;
                self.words.word(head(kind, flags, data.len()));
                for pair in data.chunks(2) {
                    self.words.word(u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
                }
            }
            REALSXP => {
                let data = data::<f64>(x)?;
                if flags & OBJECT != 0 && has_class(x, c"integer64") {
                    self.words.word(head(kind, flags | INTEGER64, data.len()));
                    data.iter().for_each(|x| self.words.word(x.to_bits()));
                } else {
                    self.words.word(head(kind, flags, data.len()));
                    data.iter().for_each(|&x| self.words.word(double(x)));
                }
            }
            CPLXSXP => {
                let data = data::<[f64; 2]>(x)?;
                self.words.word(head(kind, flags, data.len()));
                data.iter().flatten().for_each(|&x| self.words.word(double(x)));
            }
            RAWSXP => {
                let data = data::<u8>(x)?;
                self.words.word(head(kind, flags, data.len()));
                bytes_packed(data, self.words);
            }
            STRSXP => {
                let data = data::<SEXP>(x)?;
                self.words.word(head(kind, flags, data.len()));
                data.iter().try_for_each(|&x| encode_string(x, self.words))?;
            }
            VECSXP | EXPRSXP => {
                let data = data::<SEXP>(x)?;
                self.words.word(head(kind, flags, data.len()));
                data.iter().try_for_each(|&x| self.value(x))?;
            }
            SYMSXP => self.symbol(x)?,
            LISTSXP | LANGSXP => self.pairs(kind, flags, x)?,
            CLOSXP => {
                self.words.word(head(kind, flags, 0));
                let outside = std::mem::replace(&mut self.in_function, true);
                // SAFETY: the parts of a closure, which lives.
                let (formals, body, environment) = unsafe { (FORMALS(x), R_ClosureExpr(x), CLOENV(x)) };
                self.value(formals)?;
                self.value(body)?;
                self.words.word(environment as u64);
                self.in_function = outside;
            }
            // The expression that was compiled.
            // SAFETY: the object is byte code.
            BCODESXP => return self.value(unsafe { R_BytecodeExpr(x) }),
            // The object is its attributes.
            S4SXP => self.words.word(head(kind, flags, 0)),
            CHARSXP => {
                self.words.word(head(kind, 0, 0));
                encode_string(x, self.words)?;
            }
            // Environments, pointers, built-in functions, promises, weak references: by identity.
            _ => {
                self.words.word(head(kind, flags, 0));
                self.words.word(x as u64);
            }
        }
        if !attributes.is_empty() {
            self.words.word(attributes.len() as u64);
            for (name, value) in attributes {
                self.symbol(name)?;
                match row_count(name, value) {
                    Some(rows) => self.words.word(rows << 16),
                    None => self.value(value)?,
                }
            }
        }
        Ok(())
    }

    /// The attributes, sorted by name, but for source references.
    #[allow(clippy::type_complexity)]
    fn attributes(&self, x: SEXP) -> Result<ArrayVec<(SEXP, SEXP), 64>> {
        let mut found = ArrayVec::new();
        // SAFETY: attributes are a list of pairs whose tags are symbols.
        unsafe {
            let mut at = ATTRIB(x);
            while at != nil() {
                let name = TAG(at);
                let ignored = (self.in_function || TYPEOF(x) == CLOSXP) && is_source_reference(name);
                if !ignored && found.try_push((name, CAR(at))).is_err() {
                    return Err(Fault::new("value", "a value has more than 64 attributes"));
                }
                at = CDR(at);
            }
        }
        if found.len() > 1 {
            found.sort_unstable_by_key(|&(name, _)| symbol_name(name));
        }
        Ok(found)
    }

    fn symbol(&mut self, x: SEXP) -> Result<()> {
        self.words.word(head(SYMSXP, 0, 0));
        // SAFETY: the object is a symbol.
        encode_string(unsafe { PRINTNAME(x) }, self.words)
    }

    /// A list of pairs or a call, cell by cell: they may be long.
    fn pairs(&mut self, kind: c_uint, flags: u64, x: SEXP) -> Result<()> {
        let is_pair = |x| matches!(TYPEOF(x), LISTSXP | LANGSXP);
        let mut length = 0;
        let mut end = x;
        while is_pair(end) {
            length += 1;
            // SAFETY: the object is a pair.
            end = unsafe { CDR(end) };
        }
        // `function(x) y` is a call with a source reference as its last argument.
        // SAFETY: the object is a pair.
        let is_function = kind == LANGSXP && unsafe { CAR(x) == Rf_install(c"function".as_ptr()) };
        let counted = if self.in_function && is_function { length.min(3) } else { length };
        self.words.word(head(kind, flags, counted));
        let mut at = x;
        for _ in 0..counted {
            // SAFETY: the object is a pair.
            let (tag, value, rest) = unsafe { (TAG(at), CAR(at), CDR(at)) };
            match tag == nil() {
                true => self.words.word(0),
                false => self.symbol(tag)?,
            }
            self.value(value)?;
            at = rest;
        }
        self.value(if counted == length { end } else { nil() })
    }
}

/// The name of a symbol, for sorting.
fn symbol_name<'a>(symbol: SEXP) -> &'a [u8] {
    // SAFETY: R keeps symbols and their names for ever.
    unsafe { CStr::from_ptr(R_CHAR(PRINTNAME(symbol))) }.to_bytes()
}

fn is_source_reference(name: SEXP) -> bool {
    matches!(symbol_name(name), b"srcref" | b"srcfile" | b"wholeSrcref")
}

/// The number of rows, if row names are 1, 2, 3 …: R stores them in two ways.
fn row_count(name: SEXP, value: SEXP) -> Option<u64> {
    // SAFETY: the variable is R's; the vector has two elements.
    unsafe {
        let short = name == R_RowNamesSymbol && TYPEOF(value) == INTSXP && Rf_xlength(value) == 2;
        let pair = slice(if short { INTEGER_RO(value) } else { [0; 2].as_ptr() }, 2);
        if short && pair[0] == NA_INTEGER {
            return Some(u64::from(pair[1].unsigned_abs()));
        }
        if name == R_RowNamesSymbol && TYPEOF(value) == INTSXP && ALTREP(value) == 0 {
            let names = slice(INTEGER_RO(value), Rf_xlength(value) as usize);
            let counts = names.iter().enumerate().all(|(i, &name)| name as usize == i + 1);
            return counts.then_some(names.len() as u64);
        }
    }
    None
}

/// Whether one of the classes of an object is this one.
pub(crate) fn has_class(x: SEXP, class: &CStr) -> bool {
    // SAFETY: reading the class does not allocate, and its elements are strings.
    unsafe {
        let classes = Rf_getAttrib(x, R_ClassSymbol);
        TYPEOF(classes) == STRSXP
            && (0..Rf_xlength(classes)).any(|i| CStr::from_ptr(R_CHAR(STRING_ELT(classes, i))) == class)
    }
}

/// The elements of a vector of this type. R makes them now if it has not yet.
#[inline]
fn data<'a, T>(x: SEXP) -> Result<&'a [T]> {
    // SAFETY: the callers know the type, and a value does not change while R does not run.
    unsafe { crate::data::elements(x) }
}

#[allow(non_snake_case)]
#[inline(always)]
unsafe fn INTEGER_OR_LOGICAL(x: SEXP) -> *const c_int {
    // SAFETY: both have the same layout; the caller asks for a vector of one of the types.
    unsafe { if TYPEOF(x) == INTSXP { INTEGER_RO(x) } else { LOGICAL_RO(x) } }
}
