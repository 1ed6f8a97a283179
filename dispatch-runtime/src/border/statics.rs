//! Static values of another language.

use std::fmt::{Display, LowerExp};

use crate::DType;

/// A value of another language for a static argument.
#[derive(Clone, Copy, Debug)]
pub enum StaticValue<'a> {
    /// Nothing.
    Null,
    /// A vector of one element or of any other number: the language need not tell a scalar from a vector of one.
    Vector(&'a [StaticItem<'a>]),
    /// A vector without elements, in a language where it has a kind all the same.
    Empty(ItemKind),
    /// Something that is no static value, in words: `a function`.
    Other(&'a str),
}

/// An element of a [`StaticValue`]; those of one vector are of one kind, or missing.
#[derive(Clone, Copy, Debug)]
pub enum StaticItem<'a> {
    /// A missing value.
    Missing,
    /// A truth value.
    Logical(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    Text(&'a str),
}

/// Of which kind the elements of a vector are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// Truth values.
    Logical,
    /// Integers or floating-point numbers.
    Number,
    /// Texts.
    Text,
}

/// A value that is none of the static argument's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the argument takes, in words.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// From this size on not every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl StaticItem<'_> {
    fn kind(self) -> &'static str {
        match self {
            StaticItem::Missing => "missing",
            StaticItem::Logical(_) => "logical",
            StaticItem::Integer(_) => "integer",
            StaticItem::Double(_) => "double",
            StaticItem::Text(_) => "character",
        }
    }

    /// The element as the other language writes it.
    pub(crate) fn text(self) -> String {
        match self {
            StaticItem::Missing => "NA".into(),
            StaticItem::Logical(true) => "TRUE".into(),
            StaticItem::Logical(false) => "FALSE".into(),
            // A double of this size may be another number.
            StaticItem::Integer(x) if x.unsigned_abs() >= EXACT as u64 => {
                format!("bit64::as.integer64(\"{x}\")")
            }
            StaticItem::Integer(x) => x.to_string(),
            StaticItem::Double(x) => number(x),
            StaticItem::Text(text) => format!("{text:?}"),
        }
    }
}

/// A number as the other language writes it.
pub(crate) fn number<T: Copy + Display + LowerExp + Into<f64>>(x: T) -> String {
    let double: f64 = x.into();
    match double.abs() {
        size if size.is_nan() => "NaN".into(),
        f64::INFINITY => if double > 0.0 { "Inf" } else { "-Inf" }.into(),
        size if size >= 1e15 => format!("{x:e}").replacen('e', "e+", 1),
        size if size < 1e-4 && size > 0.0 => format!("{x:e}"),
        _ => x.to_string(),
    }
}

/// A vector without elements as the other language writes it.
pub(crate) fn empty(kind: Option<ItemKind>) -> &'static str {
    match kind {
        Some(ItemKind::Logical) => "logical(0)",
        Some(ItemKind::Number) => "numeric(0)",
        Some(ItemKind::Text) => "character(0)",
        None => "[]",
    }
}

impl<'a> StaticValue<'a> {
    /// The only element.
    fn one(self) -> Option<StaticItem<'a>> {
        match self {
            StaticValue::Vector(&[item]) => Some(item),
            _ => None,
        }
    }

    /// The error that it is something else.
    #[cold]
    pub fn mismatch(self, expected: impl Into<String>) -> Mismatch {
        let got = match self {
            StaticValue::Null => "NULL".into(),
            StaticValue::Vector([item]) => item.text(),
            StaticValue::Vector([]) => "an empty vector".into(),
            StaticValue::Empty(kind) => empty(Some(kind)).into(),
            StaticValue::Vector(items) => {
                let kind = items.iter().map(|item| item.kind()).find(|kind| *kind != "missing");
                let article = if kind == Some("integer") { "an" } else { "a" };
                format!("{article} {} vector of length {}", kind.unwrap_or("missing"), items.len())
            }
            StaticValue::Other(words) => words.to_owned(),
        };
        Mismatch { expected: expected.into(), got }
    }

    pub(crate) fn logical(self) -> Result<bool, Mismatch> {
        match self.one() {
            Some(StaticItem::Logical(x)) => Ok(x),
            _ => Err(self.mismatch("TRUE or FALSE")),
        }
    }

    /// A whole number of a type with these ends.
    #[inline]
    pub(crate) fn integer(self, least: i128, most: i128) -> Result<i128, Mismatch> {
        let whole = match self.one() {
            Some(StaticItem::Integer(x)) => Some(x.into()),
            Some(StaticItem::Double(x)) if x.fract() == 0.0 && x.abs() < EXACT => Some(x as i128),
            _ => None,
        };
        whole.filter(|x| (least..=most).contains(x)).ok_or_else(|| self.no_integer(least, most))
    }

    #[cold]
    fn no_integer(self, least: i128, most: i128) -> Mismatch {
        let (from, to) = (least.max(-(EXACT as i128)), most.min(EXACT as i128));
        let range = match (from == least, to == most) {
            (true, true) => format!(" from {least} to {most}"),
            // As an integer it may be larger, as a double not.
            (true, false) => format!(" from {least} on (2^53 and more only as an integer64)"),
            (false, _) => " of less than 2^53 (more only as an integer64)".into(),
        };
        self.mismatch(format!("a whole number{range}"))
    }

    pub(crate) fn double(self) -> Result<f64, Mismatch> {
        match self.one() {
            Some(StaticItem::Double(x)) => Ok(x),
            Some(StaticItem::Integer(x)) if x as f64 as i128 == x.into() => Ok(x as f64),
            _ => Err(self.mismatch("a number")),
        }
    }

    pub(crate) fn single(self) -> Result<f32, Mismatch> {
        let x = self.double()?;
        let single = x as f32;
        if single.is_infinite() && x.is_finite() {
            return Err(self.mismatch("a number that f32 holds"));
        }
        Ok(single)
    }

    pub(crate) fn text(self) -> Result<&'a str, Mismatch> {
        match self.one() {
            Some(StaticItem::Text(text)) => Ok(text),
            _ => Err(self.mismatch("a string")),
        }
    }

    pub(crate) fn character(self) -> Result<char, Mismatch> {
        let mut characters = self.text().unwrap_or_default().chars();
        match (characters.next(), characters.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.mismatch("a string of one character")),
        }
    }

    pub(crate) fn dtype(self) -> Result<DType, Mismatch> {
        self.text().ok().and_then(|name| name.parse().ok()).ok_or_else(|| {
            let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.r_name()).collect();
            self.mismatch(format!("one of {}", names.join(", ")))
        })
    }

    pub(crate) fn unsupported(self) -> Mismatch {
        self.mismatch("a value that no other language can give")
    }
}

/// The index of the variant that a text names.
#[inline]
pub fn variant(value: StaticValue<'_>, names: &[&str]) -> Result<usize, Mismatch> {
    let found = value.text().ok().and_then(|text| names.iter().position(|name| *name == text));
    found.ok_or_else(|| {
        let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        value.mismatch(match quoted.as_slice() {
            [only] => only.clone(),
            _ => format!("one of {}", quoted.join(", ")),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::StaticItem::*;
    use super::*;
    use crate::key::{Described, StaticKey};
    use crate::prelude::*;

    fn from<T: StaticKey>(item: StaticItem<'_>) -> Result<T, String> {
        T::from_value(StaticValue::Vector(&[item]))
            .map_err(|Mismatch { expected, got }| format!("{expected}; {got}"))
    }

    #[test]
    fn whole_numbers_are_integers_and_nothing_else_is() {
        assert_eq!(from(Double(3.0)), Ok(3i32));
        assert_eq!(from(Integer(-3)), Ok(-3i8));
        assert_eq!(from(Double(-0.0)), Ok(0u64));
        assert_eq!(from(Double(EXACT - 1.0)), Ok((1i64 << 53) - 1));
        assert_eq!(from(Integer(i64::MAX)), Ok(i64::MAX));
        assert_eq!(from(Integer(i64::MAX)), Ok(i64::MAX as u64));
        let bad = [
            (Double(1.5), "1.5"),
            (Double(f64::NAN), "NaN"),
            (Missing, "NA"),
            (Double(f64::INFINITY), "Inf"),
            (Double(f64::NEG_INFINITY), "-Inf"),
            (Double(EXACT), "9.007199254740992e+15"),
            (Logical(true), "TRUE"),
            (Text("1"), "\"1\""),
        ];
        for (item, got) in bad {
            let range = "a whole number from -2147483648 to 2147483647";
            assert_eq!(from::<i32>(item), Err(format!("{range}; {got}")));
            assert!(
                from::<i64>(item).is_err() && from::<usize>(item).is_err() && from::<u128>(item).is_err()
            );
        }
        assert_eq!(from::<u8>(Integer(256)), Err("a whole number from 0 to 255; 256".into()));
        assert_eq!(from::<i8>(Double(-129.0)), Err("a whole number from -128 to 127; -129".into()));
        assert_eq!(
            from::<u64>(Integer(-1)).unwrap_err(),
            "a whole number from 0 on (2^53 and more only as an integer64); -1"
        );
        assert!(from::<i64>(Double(1e300)).unwrap_err().starts_with("a whole number of less than 2^53"));
    }

    #[test]
    fn other_types_take_their_own_kind() {
        assert_eq!(from(Logical(true)), Ok(true));
        assert_eq!(from::<bool>(Integer(1)), Err("TRUE or FALSE; 1".into()));
        assert_eq!(from(Double(0.1)), Ok(0.1f32));
        assert_eq!(from(Integer(2)), Ok(2.0f64));
        assert!(from::<f64>(Double(f64::NAN)).unwrap().is_nan());
        assert_eq!(from::<f64>(Missing), Err("a number; NA".into()));
        assert_eq!(
            from::<f64>(Integer(EXACT as i64 + 1)),
            Err("a number; bit64::as.integer64(\"9007199254740993\")".into())
        );
        assert_eq!(from::<f32>(Double(1e300)), Err("a number that f32 holds; 1e+300".into()));
        assert_eq!(from(Double(f64::INFINITY)), Ok(f32::INFINITY));
        assert_eq!(from(Text("é")), Ok(String::from("é")));
        assert_eq!(from(Text("é")), Ok('é'));
        assert_eq!(from::<char>(Text("ab")), Err("a string of one character; \"ab\"".into()));
        assert_eq!(from(Text("bf16")), Ok(DType::BF16));
        assert!(from::<DType>(Text("f31")).unwrap_err().starts_with("one of bool, i8"));
        assert_eq!(from::<(i32, i32)>(Integer(1)).unwrap_err(), "a value that no other language can give; 1");
    }

    #[test]
    fn vectors_options_and_arrays_are_made_element_by_element() {
        let two = StaticValue::Vector(&[Double(1.0), Double(2.0)]);
        assert_eq!(Vec::<i32>::from_value(two), Ok(vec![1, 2]));
        assert_eq!(<[f64; 2]>::from_value(two), Ok([1.0, 2.0]));
        assert_eq!(Option::<Vec<u8>>::from_value(two), Ok(Some(vec![1, 2])));
        assert_eq!(Option::<u8>::from_value(StaticValue::Null), Ok(None));
        assert_eq!(Vec::<u8>::from_value(StaticValue::Vector(&[])), Ok(vec![]));
        assert_eq!(from(Integer(7)), Ok(Box::new(7u8)));
        let words = |m: Mismatch| format!("{}; {}", m.expected, m.got);
        let not = |value| words(i32::from_value(value).unwrap_err());
        assert!(not(two).ends_with("; a double vector of length 2"), "{}", not(two));
        assert!(not(StaticValue::Null).ends_with("; NULL"));
        assert!(not(StaticValue::Vector(&[])).ends_with("; an empty vector"));
        assert!(not(StaticValue::Other("a function")).ends_with("; a function"));
        assert_eq!(
            words(Vec::<i8>::from_value(StaticValue::Null).unwrap_err()),
            "a vector, each element a whole number from -128 to 127; NULL"
        );
        let half = StaticValue::Vector(&[Double(1.0), Double(1.5)]);
        assert_eq!(
            words(Vec::<i8>::from_value(half).unwrap_err()),
            "a vector with a whole number from -128 to 127 as element 2; 1.5"
        );
        assert_eq!(
            words(Option::<Vec<i64>>::from_value(half).unwrap_err()),
            "NULL or a vector with a whole number of less than 2^53 (more only as an integer64) as element 2; 1.5"
        );
        assert_eq!(
            words(<[i8; 3]>::from_value(half).unwrap_err()),
            "a vector of length 3; a double vector of length 2"
        );
    }

    #[test]
    fn an_empty_vector_has_a_kind() {
        let kinds = [ItemKind::Logical, ItemKind::Number, ItemKind::Text].map(StaticValue::Empty);
        fn taken<T: StaticKey>(kinds: [StaticValue<'_>; 3]) -> [bool; 3] {
            kinds.map(|kind| T::from_value(kind).is_ok())
        }
        assert_eq!(taken::<Vec<bool>>(kinds), [true, false, false]);
        assert_eq!(taken::<Vec<i64>>(kinds), [false, true, false]);
        assert_eq!(taken::<Option<Vec<f64>>>(kinds), [false, true, false]);
        assert_eq!(taken::<[f32; 0]>(kinds), [false, true, false]);
        assert_eq!(taken::<Vec<String>>(kinds), [false, false, true]);
        assert_eq!(taken::<Vec<Link>>(kinds), [false, false, true]);
        assert_eq!(taken::<u8>(kinds), [false; 3]);
        let wrong = Vec::<f64>::from_value(kinds[2]).unwrap_err();
        assert_eq!((&*wrong.expected, &*wrong.got), ("a vector, each element a number", "character(0)"));
    }

    #[derive(Clone, Debug, PartialEq, StaticArg)]
    enum Link {
        Logit,
        CauchyLogLog,
        Http2 {},
    }

    #[derive(Clone, Debug, PartialEq, StaticArg)]
    struct Knots(u8);

    #[derive(Clone, Debug, PartialEq, StaticArg)]
    enum Mixed {
        Plain,
        With(u8),
    }

    #[test]
    fn enums_without_fields_are_named_in_snake_case() {
        assert_eq!(from(Text("logit")), Ok(Link::Logit));
        assert_eq!(from(Text("cauchy_log_log")), Ok(Link::CauchyLogLog));
        assert_eq!(from(Text("http2")), Ok(Link::Http2 {}));
        assert_eq!(
            from::<Link>(Text("Logit")),
            Err("one of \"logit\", \"cauchy_log_log\", \"http2\"; \"Logit\"".into())
        );
        assert_eq!(from::<Option<Link>>(Text("logit")), Ok(Some(Link::Logit)));
        let described = Described(&Link::CauchyLogLog);
        assert_eq!(format!("{described} {described:#}"), "CauchyLogLog \"cauchy_log_log\"");
        assert!(from::<Knots>(Integer(1)).is_err() && from::<Mixed>(Text("plain")).is_err());
        assert_ne!((Mixed::Plain, Knots(1)), (Mixed::With(1), Knots(2)));
    }
}
