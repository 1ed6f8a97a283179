//! Names of list elements: in UTF-8, so that equal names have equal bytes.

use crate::fault::Result;
use crate::ffi::*;
use crate::string::{self, Text};

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

/// A string of R in UTF-8; nothing if it is of bytes, which have no encoding, or not valid in its own.
///
/// Strings that are no valid UTF-8, though marked as such, stay as they are.
///
/// # Safety
///
/// As for [`string::read`].
#[inline]
pub(super) unsafe fn utf8<'a>(name: SEXP) -> Result<Option<&'a [u8]>> {
    // SAFETY: by the caller's promise.
    Ok(match unsafe { string::read(name)? } {
        Text::Utf8(bytes) => Some(bytes),
        Text::Bytes(_) | Text::Invalid(_) => None,
    })
}
