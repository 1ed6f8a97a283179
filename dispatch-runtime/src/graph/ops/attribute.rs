//! Attributes: the constants that stand beside an operation in the text.

use std::fmt::{self, Write};

/// A constant that a custom call's target reads, or that stands on its operation: a number, a string, an array or a
/// dictionary.
///
/// Rust values become the attributes that an XLA FFI handler reads as the same type: `2i64` an `i64`, `1.5f32` an
/// `f32`, `"relu"` a string, `[1i64, 2]` an array of `i64`.
///
/// ```
/// use dispatch_runtime::graph::Attribute;
///
/// assert_eq!(Attribute::from(3u8).to_string(), "3 : ui8");
/// assert_eq!(Attribute::from(f32::INFINITY).to_string(), "0x7F800000 : f32");
/// assert_eq!(Attribute::from([1i64, -2]).to_string(), "array<i64: 1, -2>");
/// let nested = Attribute::dictionary([("name", "é\"".into()), ("on", true.into())]);
/// assert_eq!(nested.to_string(), r#"{name = "\C3\A9\22", on = true}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute(String);

impl Attribute {
    /// Names with attributes.
    pub fn dictionary<N: AsRef<str>>(entries: impl IntoIterator<Item = (N, Attribute)>) -> Attribute {
        let mut dictionary = Dictionary::default();
        entries.into_iter().for_each(|(name, attribute)| dictionary.set(name.as_ref(), attribute));
        Attribute(dictionary.to_string())
    }

    /// An attribute as MLIR writes it, for what the other conversions do not make: `Attribute::mlir("#a.b<c>")`.
    ///
    /// The text is not checked: a wrong one is an error of the compiler.
    pub fn mlir(text: impl Into<String>) -> Attribute {
        Attribute(text.into())
    }
}

/// As MLIR writes it.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<bool> for Attribute {
    fn from(x: bool) -> Attribute {
        Attribute(x.to_string())
    }
}

impl From<&str> for Attribute {
    fn from(x: &str) -> Attribute {
        Attribute(quoted(x))
    }
}

impl From<String> for Attribute {
    fn from(x: String) -> Attribute {
        Attribute(quoted(&x))
    }
}

macro_rules! numbers {
    ($($rust:ty: $mlir:literal, $text:expr;)*) => {
        $(
            impl From<$rust> for Attribute {
                fn from(x: $rust) -> Attribute {
                    let text: fn($rust) -> String = $text;
                    Attribute(format!(concat!("{} : ", $mlir), text(x)))
                }
            }

            impl From<&[$rust]> for Attribute {
                fn from(items: &[$rust]) -> Attribute {
                    let items: Vec<String> = items.iter().copied().map($text).collect();
                    let colon = if items.is_empty() { "" } else { ": " };
                    Attribute(format!(concat!("array<", $mlir, "{}{}>"), colon, items.join(", ")))
                }
            }

            impl<const N: usize> From<[$rust; N]> for Attribute {
                fn from(items: [$rust; N]) -> Attribute {
                    Attribute::from(&items[..])
                }
            }

            impl From<Vec<$rust>> for Attribute {
                fn from(items: Vec<$rust>) -> Attribute {
                    Attribute::from(&items[..])
                }
            }
        )*
    };
}

numbers! {
    i8: "i8", |x| x.to_string();
    i16: "i16", |x| x.to_string();
    i32: "i32", |x| x.to_string();
    i64: "i64", |x| x.to_string();
    u8: "ui8", |x| x.to_string();
    u16: "ui16", |x| x.to_string();
    u32: "ui32", |x| x.to_string();
    u64: "ui64", |x| x.to_string();
    f32: "f32", |x| format!("0x{:08X}", x.to_bits());
    f64: "f64", |x| format!("0x{:016X}", x.to_bits());
}

/// Names with attributes, in the order in which they were set first.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary(Vec<(String, Attribute)>);

impl Dictionary {
    pub fn set(&mut self, name: &str, attribute: Attribute) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = attribute,
            None => self.0.push((name.to_owned(), attribute)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (i, (name, attribute)) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            write!(f, "{} = {attribute}", bare(name))?;
        }
        f.write_char('}')
    }
}

/// A name as MLIR takes it in a dictionary or behind `@`: itself, or in quotes.
pub(super) fn bare(name: &str) -> String {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let plain = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit() || c == '.');
    if plain { name.to_owned() } else { quoted(name) }
}

/// A string as MLIR writes it: everything but plain signs as two hexadecimal digits.
///
/// A dollar is one of those, so that it is no place of an operand.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\' | b'$') => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:02X}");
            }
        }
    }
    out.push('"');
    out
}
