//! Names of list elements: in UTF-8, so that equal names have equal bytes.

use std::borrow::Cow;
use std::ffi::CStr;

use crate::arg::slice;
use crate::fault::Result;
use crate::ffi::*;
use crate::unwind::protect;

/// Many names, one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Names {
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len() as u32);
    }

    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start as usize..self.ends[i] as usize]
    }

    /// How many bytes all names have.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All that is here as words.
    pub fn words(&self, word: &mut impl FnMut(u64)) {
        self.ends.iter().for_each(|&end| word(end.into()));
        for chunk in self.bytes.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word(u64::from_le_bytes(bytes));
        }
    }
}

/// A string of R in UTF-8; nothing if it is of bytes, which have no encoding.
///
/// Strings that are no valid UTF-8, though marked as such, stay as they are.
///
/// # Safety
///
/// `string` is a string of R's cache that lives as long as the result.
#[inline]
pub(super) unsafe fn utf8<'a>(string: SEXP) -> Result<Option<Cow<'a, [u8]>>> {
    // SAFETY: the string has as many bytes.
    let bytes: &[u8] = unsafe { slice(R_CHAR(string).cast(), Rf_xlength(string) as usize) };
    if bytes.is_ascii() {
        return Ok(Some(Cow::Borrowed(bytes)));
    }
    // SAFETY: as above.
    match unsafe { Rf_getCharCE(string) } {
        CE_UTF8 => Ok(Some(Cow::Borrowed(bytes))),
        CE_BYTES => Ok(None),
        _ => translated(string),
    }
}

#[cold]
fn translated<'a>(string: SEXP) -> Result<Option<Cow<'a, [u8]>>> {
    // SAFETY: the translation lives until the call from R ends, and is copied here.
    unsafe {
        let text = protect(|| Rf_translateCharUTF8(string))?;
        Ok(Some(Cow::Owned(CStr::from_ptr(text).to_bytes().to_vec())))
    }
}
