//! Strings of R.
//!
//! A string has an encoding, and its bytes may be wrong in it. R's own translation writes `<e4>` for such a byte, and so
//! makes two strings alike that are not. Here such a string is told apart.

use std::ffi::{CStr, c_char};

use crate::arg::slice;
use crate::fault::Result;
use crate::ffi::*;
use crate::unwind::protect;

/// What a string is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text<'a> {
    /// In UTF-8. What R marks as such is not looked at.
    Utf8(&'a [u8]),
    /// Bytes without an encoding.
    Bytes(&'a [u8]),
    /// Bytes that the encoding does not have.
    Invalid(&'a [u8]),
}

/// Reads a string that is not `NA`.
///
/// # Safety
///
/// `string` is a string of R's cache that lives as long as the result; a translation lives until the call from R ends.
#[inline]
pub(crate) unsafe fn read<'a>(string: SEXP) -> Result<Text<'a>> {
    // SAFETY: a string of R has as many bytes.
    let bytes = unsafe { slice(R_CHAR(string).cast::<u8>(), Rf_xlength(string) as usize) };
    // SAFETY: reading the encoding of a string.
    match unsafe { Rf_getCharCE(string) } {
        CE_UTF8 => Ok(Text::Utf8(bytes)),
        CE_BYTES => Ok(Text::Bytes(bytes)),
        _ if bytes.is_ascii() => Ok(Text::Utf8(bytes)),
        encoding => translated(string, bytes, encoding),
    }
}

#[cold]
fn translated<'a>(string: SEXP, bytes: &'a [u8], encoding: std::ffi::c_int) -> Result<Text<'a>> {
    // Every byte is a character of Latin-1.
    if encoding == CE_NATIVE && !is_native(bytes)? {
        return Ok(Text::Invalid(bytes));
    }
    // SAFETY: the object is a string; the translation lives until the call from R ends, and ends in NUL.
    let text = unsafe { CStr::from_ptr(protect(|| Rf_translateCharUTF8(string))?) };
    Ok(Text::Utf8(text.to_bytes()))
}

/// Whether bytes are a text in the encoding of the session.
fn is_native(bytes: &[u8]) -> Result<bool> {
    // A character has at most four bytes in UTF-8, and each of them comes from one byte at least.
    let mut room: Vec<c_char> = vec![0; 4 * bytes.len() + 4];
    let (out, out_length) = (room.as_mut_ptr(), room.len());
    protect(|| {
        // SAFETY: the names of the encodings end in NUL; an empty one is that of the session. The pointers are to the
        // bytes and to the room for the result, with their lengths.
        unsafe {
            let converter = Riconv_open(c"UTF-8".as_ptr(), c"".as_ptr());
            if converter as isize == -1 {
                return false;
            }
            let (mut from, mut from_left) = (bytes.as_ptr().cast::<c_char>(), bytes.len());
            let (mut to, mut to_left) = (out, out_length);
            let done = Riconv(converter, &mut from, &mut from_left, &mut to, &mut to_left);
            Riconv_close(converter);
            done != usize::MAX && from_left == 0
        }
    })
}

/// A string in UTF-8; none if it is bytes or not valid in its encoding.
///
/// # Safety
///
/// As for [`read`].
pub(crate) unsafe fn utf8<'a>(string: SEXP) -> Result<Option<&'a str>> {
    // SAFETY: by the caller's promise.
    Ok(match unsafe { read(string)? } {
        Text::Utf8(bytes) => std::str::from_utf8(bytes).ok(),
        Text::Bytes(_) | Text::Invalid(_) => None,
    })
}

/// Why a string is no text, for messages.
#[cold]
pub(crate) fn no_text(string: SEXP) -> &'static str {
    // SAFETY: reading the encoding of a string.
    match unsafe { Rf_getCharCE(string) } {
        CE_BYTES => "a string of bytes without an encoding",
        _ => "a string that is not valid in its encoding",
    }
}
