//! Attributes by name.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{Attr, AttrValue, span_bytes};
use crate::ffi::{Error, Result, abi, check};

/// Attributes by name, decoded when they are asked for.
///
/// ```
/// # use dispatch_runtime::ffi::{self, Dictionary};
/// fn sum(attrs: Dictionary<'_>) -> ffi::Result<f64> {
///     let mut sum = f64::from(attrs.get::<f32>("bias")?);
///     for (name, attr) in attrs.iter() {
///         if name.starts_with("weight_") {
///             sum += attr.get::<f64>()?;
///         }
///     }
///     Ok(sum)
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Dictionary<'a> {
    /// Its outline has been checked: lists that are there if it is not empty.
    attrs: NonNull<abi::XLA_FFI_Attrs>,
    borrowed: PhantomData<&'a ()>,
}

// SAFETY: points to constants of the program, which nobody writes.
unsafe impl Send for Dictionary<'_> {}
// SAFETY: as above.
unsafe impl Sync for Dictionary<'_> {}

impl<'a> Dictionary<'a> {
    /// A dictionary whose outline has been checked.
    ///
    /// # Safety
    ///
    /// As the outline says, for `'a`.
    #[inline(always)]
    pub(in crate::ffi) unsafe fn from_raw(attrs: *const abi::XLA_FFI_Attrs) -> Dictionary<'a> {
        // SAFETY: a place in a frame, or checked, so it is not null.
        Dictionary { attrs: unsafe { NonNull::new_unchecked(attrs.cast_mut()) }, borrowed: PhantomData }
    }

    /// A dictionary whose outline has still to be checked.
    ///
    /// # Safety
    ///
    /// The struct reaches as far as it says, its lists are as long, its pointers null or valid, for `'a`.
    #[inline]
    pub(in crate::ffi) unsafe fn check(attrs: *const abi::XLA_FFI_Attrs) -> Option<Dictionary<'a>> {
        // SAFETY: the size is read first.
        let sound = unsafe {
            !attrs.is_null()
                && (*attrs).struct_size >= size_of::<abi::XLA_FFI_Attrs>()
                && ((*attrs).size == 0
                    || ((*attrs).size > 0
                        && !(*attrs).types.is_null()
                        && !(*attrs).names.is_null()
                        && !(*attrs).attrs.is_null()))
        };
        // SAFETY: checked just now.
        sound.then(|| unsafe { Dictionary::from_raw(attrs) })
    }

    /// The number of attributes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        // SAFETY: the outline is sound.
        unsafe { self.attrs.as_ref() }.size as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a name, by index; none where a frame is malformed.
    #[inline(always)]
    pub(in crate::ffi) fn name(&self, i: usize) -> Option<&'a [u8]> {
        debug_assert!(i < self.len());
        // SAFETY: the list has an item there, and names are valid or null.
        unsafe { span_bytes(*self.attrs.as_ref().names.add(i)) }
    }

    /// An attribute by index; none where a frame is malformed.
    #[inline(always)]
    pub(in crate::ffi) fn at(&self, i: usize) -> Option<Attr<'a>> {
        debug_assert!(i < self.len());
        // SAFETY: the lists have an item there.
        let (kind, value) = unsafe {
            let attrs = self.attrs.as_ref();
            (*attrs.types.add(i), *attrs.attrs.add(i))
        };
        Some(Attr { kind, value: NonNull::new(value)?, borrowed: PhantomData })
    }

    /// The place of a name. Names are sorted, but a program by hand could have them in another order, so that a search
    /// that fails is repeated one by one.
    pub(in crate::ffi) fn find(&self, name: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).unwrap_or_default().cmp(name.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        (0..self.len()).find(|&i| self.name(i) == Some(name.as_bytes()))
    }

    /// Whether there is an attribute of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The attribute of this name.
    ///
    /// The error says if there is none, or what it is instead of a `T`.
    pub fn get<T: AttrValue<'a>>(&self, name: &str) -> Result<T> {
        match self.get_optional(name)? {
            Some(value) => Ok(value),
            None => {
                let near = check::suggestion(name, (0..self.len()).filter_map(|i| self.name(i)));
                Err(Error::invalid_argument(format!(
                    "attribute `{name}`: expected {}, got none{near}",
                    T::TYPE
                )))
            }
        }
    }

    /// The attribute of this name, if there is one; an error if it is no `T`.
    pub fn get_optional<T: AttrValue<'a>>(&self, name: &str) -> Result<Option<T>> {
        let Some(i) = self.find(name) else { return Ok(None) };
        match self.at(i) {
            Some(attr) => attr.value(name).map(Some),
            None => Err(Error::internal(format!("attribute `{name}`: it has no value"))),
        }
    }

    /// The attributes with their names, in order. Left out is what has no name that is text.
    pub fn iter(&self) -> Items<'a> {
        Items { dictionary: *self, next: 0 }
    }
}

impl fmt::Debug for Dictionary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The attributes of a [`Dictionary`] with their names.
#[derive(Clone)]
pub struct Items<'a> {
    dictionary: Dictionary<'a>,
    next: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = (&'a str, Attr<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.dictionary.len() {
            let i = self.next;
            self.next += 1;
            let name = self.dictionary.name(i).and_then(|name| std::str::from_utf8(name).ok());
            if let (Some(name), Some(attr)) = (name, self.dictionary.at(i)) {
                return Some((name, attr));
            }
        }
        None
    }
}

impl<'a> IntoIterator for Dictionary<'a> {
    type Item = (&'a str, Attr<'a>);
    type IntoIter = Items<'a>;

    fn into_iter(self) -> Items<'a> {
        self.iter()
    }
}
