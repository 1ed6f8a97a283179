//! A merge of the sorted names of a call with the sorted names of a signature.

use super::{Attr, AttrValue, Dictionary};

/// Goes once through the attributes of a call or the members of a struct. The signature asks for its names in bytewise
/// order, in which the frame has them too.
pub struct Cursor<'a> {
    dictionary: Dictionary<'a>,
    next: usize,
    len: usize,
}

impl<'a> Cursor<'a> {
    /// At the first attribute.
    #[inline(always)]
    pub fn new(dictionary: Dictionary<'a>) -> Cursor<'a> {
        Cursor { dictionary, next: 0, len: dictionary.len() }
    }

    /// The attribute of this name, if it is the next one. None also stands for one without a value, which is left, so
    /// that the end is not reached.
    #[inline(always)]
    fn take(&mut self, name: &str) -> Option<Attr<'a>> {
        if self.next >= self.len || !same(self.dictionary.name(self.next)?, name) {
            return None;
        }
        let attr = self.dictionary.at(self.next)?;
        self.next += 1;
        Some(attr)
    }

    /// An attribute that must be there.
    #[inline(always)]
    pub fn required<T: AttrValue<'a>>(&mut self, name: &str) -> Option<T> {
        T::from_attr(self.take(name)?)
    }

    /// An attribute with a default.
    #[inline(always)]
    pub fn or_else<T: AttrValue<'a>>(&mut self, name: &str, default: impl FnOnce() -> T) -> Option<T> {
        match self.take(name) {
            Some(attr) => T::from_attr(attr),
            None => Some(default()),
        }
    }

    /// An attribute that may be absent.
    #[inline(always)]
    pub fn optional<T: AttrValue<'a>>(&mut self, name: &str) -> Option<Option<T>> {
        match self.take(name) {
            Some(attr) => Some(Some(T::from_attr(attr)?)),
            None => Some(None),
        }
    }

    /// Passes by the attributes before this name: for a function that takes the dictionary of all.
    #[inline]
    pub fn skip_to(&mut self, name: &str) {
        while self.next < self.len && self.dictionary.name(self.next).is_some_and(|n| n < name.as_bytes()) {
            self.next += 1;
        }
    }

    /// Whether every attribute has been taken.
    #[inline(always)]
    pub fn finished(&self) -> bool {
        self.next == self.len
    }
}

/// Compares a name with one whose length the compiler knows.
#[inline(always)]
fn same(name: &[u8], known: &str) -> bool {
    name.len() == known.len() && name == known.as_bytes()
}
