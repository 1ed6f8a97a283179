//! Attributes: the constants that a program gives to a call.

mod cursor;
mod dictionary;
mod types;
mod value;

pub use cursor::Cursor;
pub use dictionary::{Dictionary, Items};
pub use types::AttrType;
pub(super) use types::Mismatch;
pub use value::{AttrValue, Integer, Pointer, integer_type};

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use super::abi::{self, attr_type};
use super::{DataType, Error, Result};

/// One attribute, not decoded yet.
#[derive(Clone, Copy)]
pub struct Attr<'a> {
    kind: c_int,
    /// What `kind` says, which has not been looked at.
    value: NonNull<c_void>,
    borrowed: PhantomData<&'a ()>,
}

// SAFETY: points to constants of the program, which nobody writes.
unsafe impl Send for Attr<'_> {}
// SAFETY: as above.
unsafe impl Sync for Attr<'_> {}

impl<'a> Attr<'a> {
    /// The attribute as a value; `name` is for the error.
    pub(super) fn value<T: AttrValue<'a>>(self, name: &str) -> Result<T> {
        T::from_attr(self).ok_or_else(|| match T::TYPE.mismatch(self) {
            Some(wrong) => wrong.error(name),
            None => self.unfit::<T>(name),
        })
    }

    fn unfit<T: AttrValue<'a>>(self, name: &str) -> Error {
        Error::invalid_argument(format!("attribute `{name}`: expected {}, got {self}", T::TYPE))
    }

    /// The value of a number and its type.
    #[inline(always)]
    pub(super) fn scalar(self) -> Option<(DataType, NonNull<c_void>)> {
        if self.kind != attr_type::SCALAR {
            return None;
        }
        // SAFETY: an attribute of this kind points to this.
        let scalar = unsafe { self.value.cast::<abi::XLA_FFI_Scalar>().as_ref() };
        Some((DataType(scalar.dtype), NonNull::new(scalar.value)?))
    }

    /// The items of an array and their type.
    #[inline(always)]
    pub(super) fn array(self) -> Option<(DataType, *const c_void, usize)> {
        if self.kind != attr_type::ARRAY {
            return None;
        }
        // SAFETY: an attribute of this kind points to this.
        let array = unsafe { self.value.cast::<abi::XLA_FFI_Array>().as_ref() };
        (array.size == 0 || !array.data.is_null()).then_some((
            DataType(array.dtype),
            array.data.cast_const(),
            array.size,
        ))
    }

    /// The bytes of a string.
    #[inline(always)]
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        if self.kind != attr_type::STRING {
            return None;
        }
        // SAFETY: an attribute of this kind points to this.
        unsafe { span_bytes(self.value.cast().as_ptr()) }
    }

    /// The attributes in a dictionary.
    #[inline(always)]
    pub(super) fn dictionary(self) -> Option<Dictionary<'a>> {
        if self.kind != attr_type::DICTIONARY {
            return None;
        }
        // SAFETY: an attribute of this kind points to this; its outline is checked.
        unsafe { Dictionary::check(self.value.cast().as_ptr()) }
    }
}

/// What it is, without its value: `i64`, `array of f32`, `string`.
impl std::fmt::Display for Attr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            attr_type::SCALAR => match self.scalar() {
                Some((data_type, _)) => write!(f, "{data_type}"),
                None => f.write_str("a number without a value"),
            },
            attr_type::ARRAY => match self.array() {
                Some((data_type, ..)) => write!(f, "array of {data_type}"),
                None => f.write_str("an array without items"),
            },
            attr_type::STRING => match self.bytes().map(std::str::from_utf8) {
                Some(Ok(_)) => f.write_str("string"),
                Some(Err(_)) => f.write_str("a string that is not UTF-8"),
                None => f.write_str("a string without text"),
            },
            attr_type::DICTIONARY => match self.dictionary() {
                Some(_) => f.write_str("dictionary"),
                None => f.write_str("a malformed dictionary"),
            },
            kind => write!(f, "an attribute of an unknown kind ({kind})"),
        }
    }
}

impl std::fmt::Debug for Attr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// The bytes of a span, if they are there.
///
/// # Safety
///
/// The pointer is null or valid for `'a`, and so are the bytes.
#[inline(always)]
unsafe fn span_bytes<'a>(span: *const abi::XLA_FFI_ByteSpan) -> Option<&'a [u8]> {
    if span.is_null() {
        return None;
    }
    // SAFETY: by the contract.
    let span = unsafe { &*span };
    match span.len {
        0 => Some(&[]),
        // SAFETY: by the contract; no allocation is larger than this.
        len if !span.ptr.is_null() && len <= isize::MAX as usize => unsafe {
            Some(slice::from_raw_parts(span.ptr.cast(), len))
        },
        _ => None,
    }
}
