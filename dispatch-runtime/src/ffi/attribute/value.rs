//! The Rust types of attributes.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::slice;

use num_complex::Complex;

use super::{Attr, AttrType, Cursor, Dictionary, Mismatch};
use crate::ffi::{DataType, Error, Result};
use crate::{DType, Element};

/// A Rust type that an attribute can be: `bool`, `i8` to `i64`, `u8` to `u64`, `f32`, `f64`, `Complex<f32>`,
/// `Complex<f64>`, `&str`, slices of the integers and of `f32` and `f64`, [`Dictionary`], [`Pointer`], and enums and
/// structs that derive it.
///
/// A number is of exactly this type: an `i32` is no `i64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of attribute of a handler",
    note = "attributes are bool, i8 to i64, u8 to u64, f32, f64, Complex<f32 or f64>, &str, slices of integers and floats, `ffi::Dictionary`, `ffi::Pointer`, and types with `#[derive(AttrValue)]`"
)]
pub trait AttrValue<'a>: Sized {
    /// What the attribute must be.
    const TYPE: AttrType;

    /// The value, if the attribute is of this type.
    fn from_attr(attr: Attr<'a>) -> Option<Self>;

    // For expansions, which name this trait at a type always in the same way: the compiler complains once of a type that
    // does not implement it.

    #[doc(hidden)]
    #[inline(always)]
    fn required(cursor: &mut Cursor<'a>, name: &str) -> Option<Self> {
        cursor.required(name)
    }

    #[doc(hidden)]
    #[inline(always)]
    fn or_else(cursor: &mut Cursor<'a>, name: &str, default: impl FnOnce() -> Self) -> Option<Self> {
        cursor.or_else(name, default)
    }

    #[doc(hidden)]
    #[inline(always)]
    fn optional(cursor: &mut Cursor<'a>, name: &str) -> Option<Option<Self>> {
        cursor.optional(name)
    }
}

impl<'a> Attr<'a> {
    /// The attribute as a value of this type; the error says what it is instead.
    pub fn get<T: AttrValue<'a>>(self) -> Result<T> {
        T::from_attr(self).ok_or_else(|| {
            let wrong = T::TYPE.mismatch(self).map(Mismatch::unnamed);
            Error::invalid_argument(wrong.unwrap_or_else(|| format!("expected {}, got {self}", T::TYPE)))
        })
    }
}

macro_rules! numbers {
    ($($rust:ty)*) => {
        $(
            impl<'a> AttrValue<'a> for $rust {
                const TYPE: AttrType = AttrType::Scalar(DataType::of(<$rust as Element>::DTYPE));

                #[inline(always)]
                fn from_attr(attr: Attr<'a>) -> Option<Self> {
                    let (data_type, value) = attr.scalar()?;
                    // SAFETY: a number of this type has a value of this size; any bytes are one.
                    (data_type == DataType::of(<$rust>::DTYPE)).then(|| unsafe { value.cast().read_unaligned() })
                }
            }
        )*
    };
}

numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Complex<f32> Complex<f64> }

impl<'a> AttrValue<'a> for bool {
    const TYPE: AttrType = AttrType::Scalar(DataType::of(DType::Bool));

    #[inline(always)]
    fn from_attr(attr: Attr<'a>) -> Option<Self> {
        let (data_type, value) = attr.scalar()?;
        if data_type != DataType::of(DType::Bool) {
            return None;
        }
        // SAFETY: a bool has one byte.
        match unsafe { value.cast::<u8>().read() } {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! arrays {
    ($($rust:ty)*) => {
        $(
            impl<'a> AttrValue<'a> for &'a [$rust] {
                const TYPE: AttrType = AttrType::Array(DataType::of(<$rust as Element>::DTYPE));

                #[inline]
                fn from_attr(attr: Attr<'a>) -> Option<Self> {
                    let (data_type, data, len) = attr.array()?;
                    if data_type != DataType::of(<$rust>::DTYPE) {
                        return None;
                    }
                    if len == 0 {
                        return Some(&[]);
                    }
                    let data = data.cast::<$rust>();
                    let fits = len.checked_mul(size_of::<$rust>()).is_some_and(|n| n <= isize::MAX as usize);
                    // SAFETY: an array of this type has `len` items; any bytes are one.
                    (fits && data.is_aligned()).then(|| unsafe { slice::from_raw_parts(data, len) })
                }
            }
        )*
    };
}

arrays! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

impl<'a> AttrValue<'a> for &'a str {
    const TYPE: AttrType = AttrType::String;

    #[inline]
    fn from_attr(attr: Attr<'a>) -> Option<Self> {
        std::str::from_utf8(attr.bytes()?).ok()
    }
}

impl<'a> AttrValue<'a> for Dictionary<'a> {
    const TYPE: AttrType = AttrType::Dictionary;

    #[inline]
    fn from_attr(attr: Attr<'a>) -> Option<Self> {
        attr.dictionary()
    }
}

/// An address that a program carries as an `i64`, of something in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer(i64);

impl Pointer {
    /// The address. Whether something is there is between whoever made the program and the handler.
    pub fn as_ptr<T>(self) -> *mut T {
        self.0 as usize as *mut T
    }
}

impl<'a> AttrValue<'a> for Pointer {
    const TYPE: AttrType = AttrType::Pointer;

    #[inline]
    fn from_attr(attr: Attr<'a>) -> Option<Self> {
        i64::from_attr(attr).map(Pointer)
    }
}

/// An integer of a type known when the program runs.
#[derive(Clone, Copy)]
pub struct Integer {
    data_type: DataType,
    bits: i64,
}

impl Integer {
    /// One with these bits.
    pub(super) fn new(data_type: DataType, bits: i64) -> Integer {
        Integer { data_type, bits }
    }

    /// The value, extended to 64 bits.
    pub(super) fn bits(self) -> i64 {
        self.bits
    }

    /// Reads one, if the type is that of an integer.
    ///
    /// # Safety
    ///
    /// A value of the type is there.
    pub(super) unsafe fn read(data_type: DataType, value: NonNull<c_void>) -> Option<Integer> {
        // SAFETY: by the contract.
        let bits = unsafe {
            match data_type.dtype()? {
                DType::I8 => value.cast::<i8>().read_unaligned().into(),
                DType::I16 => value.cast::<i16>().read_unaligned().into(),
                DType::I32 => value.cast::<i32>().read_unaligned().into(),
                DType::I64 | DType::U64 => value.cast::<i64>().read_unaligned(),
                DType::U8 => value.cast::<u8>().read_unaligned().into(),
                DType::U16 => value.cast::<u16>().read_unaligned().into(),
                DType::U32 => value.cast::<u32>().read_unaligned().into(),
                _ => return None,
            }
        };
        Some(Integer { data_type, bits })
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.data_type == DataType::of(DType::U64) {
            write!(f, "{}", self.bits as u64)
        } else {
            write!(f, "{}", self.bits)
        }
    }
}

/// The type of the discriminants of an enum with `#[repr(R)]`.
pub const fn integer_type<R: Element>() -> DataType {
    DataType::of(R::DTYPE)
}
