//! Values of R, and how R's parser reads them.

use std::fmt::{self, Write};

use proc_macro2::Ident;

/// A value of R that a Rust default stands for.
///
/// Displayed, it is an expression in ASCII that R evaluates to the value.
///
/// ```
/// use dispatch_codegen::syntax::{RKind, RValue};
///
/// assert_eq!(RValue::Integer(25).to_string(), "25L");
/// assert_eq!(RValue::Integer(3_000_000_001).to_string(), "3000000001");
/// assert_eq!(RValue::Double(f64::NEG_INFINITY).to_string(), "-Inf");
/// assert_eq!(RValue::String("a \"b\" é".into()).to_string(), r#""a \"b\" \u00e9""#);
/// let sizes = RValue::vector(RKind::Integer, [1, 2].map(RValue::Integer).to_vec());
/// assert_eq!(sizes.to_string(), "c(1L, 2L)");
/// assert_eq!(RValue::vector(RKind::Double, vec![]).to_string(), "numeric(0)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum RValue {
    /// NULL
    Null,
    /// TRUE or FALSE
    Logical(bool),
    /// A whole number below 2^53: an integer if R has one, else a double.
    Integer(i64),
    /// A number, NaN or an infinity.
    Double(f64),
    /// A string without NUL.
    String(String),
    /// A variant of an enum, by its name in Rust.
    Variant(Ident),
    /// A vector of values that are one each.
    Vector {
        /// What the values are.
        kind: RKind,
        /// The values.
        values: Vec<RValue>,
        /// Whether the function that makes it is named as R's own: `base::c(1L, 2L)`.
        qualified: bool,
    },
}

/// What the values of a vector are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of R's types")]
pub enum RKind {
    Logical,
    Integer,
    Double,
    String,
}

impl RValue {
    /// A vector of these values.
    pub fn vector(kind: RKind, values: Vec<RValue>) -> RValue {
        RValue::Vector { kind, values, qualified: false }
    }

    /// The function that the expression calls, if it calls one.
    ///
    /// An argument or a function of the package that has its name would be called instead, unless it is qualified.
    pub fn function(&self) -> Option<&'static str> {
        let RValue::Vector { kind, values, .. } = self else { return None };
        match (values.as_slice(), kind) {
            ([_], _) => None,
            ([_, ..], _) => Some("c"),
            ([], RKind::Logical) => Some("logical"),
            ([], RKind::Integer) => Some("integer"),
            ([], RKind::Double) => Some("numeric"),
            ([], RKind::String) => Some("character"),
        }
    }

    /// Names the function as R's own.
    pub fn qualify(&mut self) {
        if let RValue::Vector { qualified, .. } = self {
            *qualified = true;
        }
    }
}

impl fmt::Display for RValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RValue::Null => f.write_str("NULL"),
            RValue::Logical(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            RValue::Integer(value) => integer(f, *value),
            RValue::Double(value) => double(f, *value),
            RValue::String(value) => string(f, value),
            RValue::Variant(variant) => string(f, &super::variant_name(variant)),
            RValue::Vector { values, qualified, .. } => {
                vector(f, self.function().unwrap_or_default(), values, *qualified)
            }
        }
    }
}

fn integer(f: &mut fmt::Formatter<'_>, value: i64) -> fmt::Result {
    // R's least integer is NA.
    match i32::try_from(value) {
        Ok(value) if value != i32::MIN => write!(f, "{value}L"),
        // Exact: it is below 2^53.
        _ => double(f, value as f64),
    }
}

fn double(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() {
        return f.write_str("NaN");
    }
    if value.is_infinite() {
        return f.write_str(if value > 0.0 { "Inf" } else { "-Inf" });
    }
    // The shortest digits that are this value, in the shorter of the two forms, as R writes numbers.
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let scientific = format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    let fixed = format!("{value}");
    f.write_str(if fixed.len() <= scientific.len() { &fixed } else { &scientific })
}

fn string(f: &mut fmt::Formatter<'_>, value: &str) -> fmt::Result {
    f.write_char('"')?;
    for letter in value.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            ' '..='~' => f.write_char(letter)?,
            // R takes `\u` and bytes by number in one string for a mistake, so a control character is `\u` too.
            _ if (letter as u32) < 0x1_0000 => write!(f, "\\u{:04x}", letter as u32)?,
            _ => write!(f, "\\U{:08x}", letter as u32)?,
        }
    }
    f.write_char('"')
}

fn vector(f: &mut fmt::Formatter<'_>, function: &str, values: &[RValue], qualified: bool) -> fmt::Result {
    let from = if qualified { "base::" } else { "" };
    match values {
        [] => write!(f, "{from}{function}(0)"),
        [only] => write!(f, "{only}"),
        [first, others @ ..] => {
            write!(f, "{from}{function}({first}")?;
            others.iter().try_for_each(|value| write!(f, ", {value}"))?;
            f.write_char(')')
        }
    }
}
