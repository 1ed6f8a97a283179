//! The types of attributes as data.

use std::fmt;

use super::{Attr, Integer};
use crate::ffi::spec::AttrSpec;
use crate::ffi::{DataType, Error, check};

/// What an attribute must be.
#[derive(Clone, Copy, Debug)]
pub enum AttrType {
    /// A number of this type.
    Scalar(DataType),
    /// An array of numbers of this type.
    Array(DataType),
    /// A text in UTF-8.
    String,
    /// A dictionary of any attributes.
    Dictionary,
    /// An address, as an `i64`.
    Pointer,
    /// An enum: an integer of exactly this type that is one of these.
    Enum {
        /// Its name in Rust.
        name: &'static str,
        /// The type of its discriminants.
        repr: DataType,
        /// The variants with their discriminants; those of `u64` are given by their bits.
        variants: &'static [(&'static str, i64)],
    },
    /// A struct: a dictionary with exactly these members, sorted by name.
    Struct {
        /// Its name in Rust.
        name: &'static str,
        /// Its members.
        members: &'static [AttrSpec],
    },
}

/// Why an attribute is not of a type.
pub(in crate::ffi) struct Mismatch {
    /// The way from the attribute to the member that is wrong: `lo`, `range.lo`, or nothing.
    pub path: String,
    pub wrong: String,
}

impl Mismatch {
    pub fn error(self, name: &str) -> Error {
        let Mismatch { path, wrong } = self.inside(name);
        Error::invalid_argument(format!("attribute `{path}`: {wrong}"))
    }

    /// The words for an attribute whose name is not known.
    pub fn unnamed(self) -> String {
        match self.path.as_str() {
            "" => self.wrong,
            path => format!("member `{path}`: {}", self.wrong),
        }
    }

    /// The same, seen from around a member.
    pub fn inside(self, name: &str) -> Mismatch {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{name}.{path}"),
        };
        Mismatch { path, ..self }
    }

    pub fn of(wrong: String) -> Option<Mismatch> {
        Some(Mismatch { path: String::new(), wrong })
    }
}

impl AttrType {
    /// What is wrong with an attribute, if something is.
    pub(in crate::ffi) fn mismatch(&self, attr: Attr<'_>) -> Option<Mismatch> {
        let wrong = || Mismatch::of(format!("expected {self}, got {attr}"));
        match *self {
            AttrType::Scalar(data_type) => match attr.scalar() {
                Some((got, value)) if got == data_type => {
                    // SAFETY: a number has a value of its type; a bool is read as a byte.
                    let byte = unsafe { value.cast::<u8>().read() };
                    let bool = data_type == DataType::of(crate::DType::Bool);
                    if bool && byte > 1 {
                        Mismatch::of(format!("expected bool, got the byte {byte}"))
                    } else {
                        None
                    }
                }
                _ => wrong(),
            },
            AttrType::Array(data_type) => match attr.array() {
                Some((got, data, len)) if got == data_type => {
                    let align = data_type.dtype().map_or(1, check::alignment);
                    let sound = len == 0 || data as usize % align == 0;
                    let misaligned = || format!("its items are not aligned to {align} bytes");
                    if sound { None } else { Mismatch::of(misaligned()) }
                }
                _ => wrong(),
            },
            AttrType::String => match attr.bytes() {
                Some(bytes) if std::str::from_utf8(bytes).is_ok() => None,
                _ => wrong(),
            },
            AttrType::Dictionary => {
                if attr.dictionary().is_some() {
                    None
                } else {
                    wrong()
                }
            }
            AttrType::Pointer => match attr.scalar() {
                Some((got, _)) if got == DataType::of(crate::DType::I64) => None,
                _ => wrong(),
            },
            AttrType::Enum { repr, variants, .. } => match attr.scalar() {
                Some((got, value)) if got == repr => {
                    // SAFETY: a number has a value of its type.
                    let value = unsafe { Integer::read(repr, value) }?;
                    if variants.iter().any(|(_, n)| *n == value.bits()) {
                        return None;
                    }
                    Mismatch::of(format!("expected {self}, got {value}"))
                }
                _ => wrong(),
            },
            AttrType::Struct { name, members } => {
                let Some(dictionary) = attr.dictionary() else { return wrong() };
                check::members(name, members, dictionary, false, &|_| false)
            }
        }
    }
}

impl fmt::Display for AttrType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrType::Scalar(data_type) => write!(f, "{data_type}"),
            AttrType::Array(data_type) => write!(f, "array of {data_type}"),
            AttrType::String => f.write_str("string"),
            AttrType::Dictionary => f.write_str("dictionary"),
            AttrType::Pointer => f.write_str("pointer (i64)"),
            AttrType::Enum { name, repr, variants } => {
                write!(f, "{name} ({repr}: ")?;
                for (i, (variant, value)) in variants.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{} {variant}", Integer::new(*repr, *value))?;
                }
                f.write_str(")")
            }
            AttrType::Struct { name, members } => {
                write!(f, "{name} (dictionary of ")?;
                for (i, member) in members.iter().enumerate() {
                    write!(f, "{}{}: {}", if i > 0 { ", " } else { "" }, member.name, member.r#type)?;
                }
                f.write_str(")")
            }
        }
    }
}
