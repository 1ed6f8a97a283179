//! Attributes: the constants that stand beside an operation in the text.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::text;

/// A constant that a custom call's target reads, or that stands on its operation: a number, a string, an array or a
/// dictionary.
///
/// Rust values become the attributes that an XLA FFI handler reads as the same type: `2i64` an `i64`, `1.5f32` an
/// `f32`, `"relu"` a string, `[1i64, 2]` an array of `i64`.
///
/// ```
/// use dispatch_runtime::custom_call::Attribute;
///
/// assert_eq!(Attribute::from(3u8).to_string(), "3 : ui8");
/// assert_eq!(Attribute::from(f32::INFINITY).to_string(), "0x7F800000 : f32");
/// assert_eq!(Attribute::from([1i64, -2]).to_string(), "array<i64: 1, -2>");
/// assert_eq!(Attribute::from([1u8, 2]).to_string(), "dense<[1, 2]> : tensor<2xui8>");
/// let nested = Attribute::dictionary([("name", "é\"".into()), ("on", true.into())]);
/// assert_eq!(nested.to_string(), r#"{name = "\C3\A9\22", on = true}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute(pub(super) Kind);

/// What an attribute is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool(bool),
    Number(Number),
    Numbers(NumberType, Vec<Number>),
    Text(String),
    Dictionary(Dictionary),
    /// As MLIR writes it; what that is, is not known before it is read.
    Mlir(String),
}

impl Attribute {
    /// Names with attributes.
    pub fn dictionary<N: AsRef<str>>(entries: impl IntoIterator<Item = (N, Attribute)>) -> Attribute {
        let mut dictionary = Dictionary::default();
        entries.into_iter().for_each(|(name, attribute)| dictionary.set(name.as_ref(), attribute));
        Attribute(Kind::Dictionary(dictionary))
    }

    /// An attribute as MLIR writes it, for what the other conversions do not make: `Attribute::mlir("#a.b<c>")`.
    ///
    /// On an operation the text is not checked: a wrong one is an error of the compiler. What a handler is to read is
    /// checked, for some types that MLIR has make the compiler crash.
    pub fn mlir(text: impl Into<String>) -> Attribute {
        Attribute(Kind::Mlir(text.into()))
    }

    /// The type in the words of messages: `i64`, `string`, `array of f32`.
    pub(super) fn type_name(&self) -> String {
        match &self.0 {
            Kind::Bool(_) => "bool".into(),
            Kind::Number(number) => number.ty.name().into(),
            Kind::Numbers(ty, _) => format!("array of {}", ty.name()),
            Kind::Text(_) => "string".into(),
            Kind::Dictionary(_) => "dictionary".into(),
            Kind::Mlir(text) => format!("`{text}`"),
        }
    }
}

/// As MLIR writes it.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Bool(x) => write!(f, "{x}"),
            Kind::Number(number) => write!(f, "{number} : {}", number.ty.mlir()),
            Kind::Numbers(ty, numbers) => {
                let list = numbers.iter().map(Number::to_string).collect::<Vec<_>>().join(", ");
                match (ty.is_signed(), &*list) {
                    (true, "") => write!(f, "array<{}>", ty.mlir()),
                    (true, list) => write!(f, "array<{}: {list}>", ty.mlir()),
                    // XLA refuses an `array` of these, but gives a tensor to a handler as the same.
                    (false, "") => write!(f, "dense<> : tensor<0x{}>", ty.mlir()),
                    (false, list) => write!(f, "dense<[{list}]> : tensor<{}x{}>", numbers.len(), ty.mlir()),
                }
            }
            Kind::Text(text) => f.write_str(&quoted(text)),
            Kind::Dictionary(dictionary) => write!(f, "{dictionary}"),
            Kind::Mlir(text) => f.write_str(text),
        }
    }
}

impl From<Dictionary> for Attribute {
    fn from(dictionary: Dictionary) -> Attribute {
        Attribute(Kind::Dictionary(dictionary))
    }
}

impl From<bool> for Attribute {
    fn from(x: bool) -> Attribute {
        Attribute(Kind::Bool(x))
    }
}

impl From<&str> for Attribute {
    fn from(x: &str) -> Attribute {
        Attribute(Kind::Text(x.to_owned()))
    }
}

impl From<String> for Attribute {
    fn from(x: String) -> Attribute {
        Attribute(Kind::Text(x))
    }
}

/// A number of a type, as the bits that it has there: integers are extended by their sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub ty: NumberType,
    bits: u64,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ty, self.integer()) {
            (_, Some(n)) => write!(f, "{n}"),
            // By its bits: MLIR has no words for infinities and NaN.
            (NumberType::F32, None) => write!(f, "0x{:08X}", self.bits),
            (_, None) => write!(f, "0x{:016X}", self.bits),
        }
    }
}

impl Number {
    /// The value, if the type is one of integers.
    pub fn integer(self) -> Option<i128> {
        match self.ty {
            NumberType::F32 | NumberType::F64 => None,
            ty if ty.is_signed() => Some(i128::from(self.bits as i64)),
            _ => Some(i128::from(self.bits)),
        }
    }

    /// The value, if the type is one of floats.
    pub fn float(self) -> Option<f64> {
        match self.ty {
            NumberType::F32 => Some(f64::from(f32::from_bits(self.bits as u32))),
            NumberType::F64 => Some(f64::from_bits(self.bits)),
            _ => None,
        }
    }

    /// An integer as a number of a type that holds it exactly.
    pub fn of_integer(ty: NumberType, n: i128) -> Option<Number> {
        let bits = match ty {
            NumberType::F32 => exact(n, f64::from(n as f32)).map(|x| u64::from((x as f32).to_bits())),
            NumberType::F64 => exact(n, n as f64).map(f64::to_bits),
            ty if ty.is_signed() => {
                let most = 1i128 << (ty.width() - 1);
                (-most..most).contains(&n).then_some(n as i64 as u64)
            }
            ty => (0..1i128 << ty.width()).contains(&n).then_some(n as u64),
        };
        bits.map(|bits| Number { ty, bits })
    }

    /// A float as a number of a type of floats that holds it exactly, but for `nearest`, or of integers.
    pub fn of_float(ty: NumberType, x: f64, nearest: bool) -> Option<Number> {
        match ty {
            NumberType::F64 => Some(Number { ty, bits: x.to_bits() }),
            NumberType::F32 => {
                let narrow = x as f32;
                let fits = x.is_nan() || f64::from(narrow) == x || (nearest && narrow.is_finite());
                fits.then(|| Number { ty, bits: u64::from(narrow.to_bits()) })
            }
            ty => {
                let whole = x.fract() == 0.0 && x.abs() < 2f64.powi(64);
                whole.then(|| Number::of_integer(ty, x as i128)).flatten()
            }
        }
    }

    /// A number by its bits, as MLIR writes floats that have no other words.
    pub fn of_bits(ty: NumberType, bits: u64) -> Number {
        Number { ty, bits }
    }

    /// The same value in another type, if that holds it: a number of Rust for what a handler declares. A float may be
    /// rounded, as Rust rounds the literal, but not become infinite; an integer has to be exact.
    pub fn convert(self, ty: NumberType) -> Option<Number> {
        match (self.integer(), self.float()) {
            _ if self.ty == ty => Some(self),
            (Some(n), _) => Number::of_integer(ty, n),
            (_, Some(x)) => Number::of_float(ty, x, true),
            _ => None,
        }
    }

    /// As a message shows it.
    pub fn shown(self) -> String {
        match (self.integer(), self.float()) {
            (Some(n), _) => n.to_string(),
            (_, x) => format!("{:?}", x.unwrap_or_default()),
        }
    }
}

/// A float that is exactly this integer.
fn exact(n: i128, x: f64) -> Option<f64> {
    (x as i128 == n).then_some(x)
}

macro_rules! number_types {
    ($($variant:ident = $rust:ty, $name:literal, $mlir:literal, $width:literal, $signed:literal, $bits:expr;)*) => {
        /// The types of numbers that a handler reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum NumberType {
            $($variant,)*
        }

        impl NumberType {
            pub const ALL: &'static [NumberType] = &[$(NumberType::$variant,)*];

            /// As Rust calls it.
            pub fn name(self) -> &'static str {
                match self { $(NumberType::$variant => $name,)* }
            }

            /// As MLIR calls it.
            pub fn mlir(self) -> &'static str {
                match self { $(NumberType::$variant => $mlir,)* }
            }

            pub fn width(self) -> u32 {
                match self { $(NumberType::$variant => $width,)* }
            }

            fn is_signed(self) -> bool {
                match self { $(NumberType::$variant => $signed,)* }
            }
        }

        $(
            impl From<$rust> for Attribute {
                fn from(x: $rust) -> Attribute {
                    let bits: fn($rust) -> u64 = $bits;
                    Attribute(Kind::Number(Number { ty: NumberType::$variant, bits: bits(x) }))
                }
            }

            impl From<&[$rust]> for Attribute {
                fn from(items: &[$rust]) -> Attribute {
                    let bits: fn($rust) -> u64 = $bits;
                    let ty = NumberType::$variant;
                    Attribute(Kind::Numbers(ty, items.iter().map(|&x| Number { ty, bits: bits(x) }).collect()))
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

number_types! {
    I8 = i8, "i8", "i8", 8, true, |x| x as i64 as u64;
    I16 = i16, "i16", "i16", 16, true, |x| x as i64 as u64;
    I32 = i32, "i32", "i32", 32, true, |x| x as i64 as u64;
    I64 = i64, "i64", "i64", 64, true, |x| x as u64;
    U8 = u8, "u8", "ui8", 8, false, |x| x.into();
    U16 = u16, "u16", "ui16", 16, false, |x| x.into();
    U32 = u32, "u32", "ui32", 32, false, |x| x.into();
    U64 = u64, "u64", "ui64", 64, false, |x| x;
    F32 = f32, "f32", "f32", 32, true, |x| x.to_bits().into();
    F64 = f64, "f64", "f64", 64, true, |x| x.to_bits();
}

/// Names with attributes, in the order in which they were set first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dictionary(pub(super) Vec<(String, Attribute)>);

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

    /// The attributes as a handler gets them, or which one the compiler refuses or crashes of, and why.
    pub fn deliverable(&self) -> Result<Dictionary, String> {
        self.deliverable_at("", 0)
    }

    fn deliverable_at(&self, path: &str, depth: usize) -> Result<Dictionary, String> {
        if depth > text::DEEPEST {
            return Err(text::too_deep());
        }
        let mut out = Vec::with_capacity(self.0.len());
        for (name, attribute) in &self.0 {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let kind = match &attribute.0 {
                Kind::Mlir(text) => text::read(text).map_err(|reason| {
                    format!("attribute `{path}` = {}: {}", shortened(text), shortened(&reason))
                })?,
                kind => kind.clone(),
            };
            let kind = match kind {
                Kind::Dictionary(dictionary) => {
                    Kind::Dictionary(dictionary.deliverable_at(&path, depth + 1)?)
                }
                kind => kind,
            };
            if name.is_empty() {
                return Err("an attribute needs a name".into());
            }
            out.push((name.clone(), Attribute(kind)));
        }
        Ok(Dictionary(out))
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

/// The two ends of a long text, which is enough to find it again.
fn shortened(text: &str) -> Cow<'_, str> {
    const END: usize = 200;
    let signs = |from: &mut dyn Iterator<Item = (usize, char)>| from.nth(END).map(|(at, _)| at);
    let (head, tail) = (signs(&mut text.char_indices()), signs(&mut text.char_indices().rev()));
    match (head, tail) {
        (Some(head), Some(tail)) if head < tail => format!("{} … {}", &text[..head], &text[tail..]).into(),
        _ => text.into(),
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
