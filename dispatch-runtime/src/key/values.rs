//! The values of Rust that are static arguments.

use std::fmt;

use super::{Described, Sink, StaticKey};
use crate::border::{ItemKind, Mismatch, StaticItem, StaticValue, empty, number};

macro_rules! by_word {
    ($($ty:ty, $item:ident: |$x:ident| $word:expr, |$value:ident| $from:expr, |$shown:ident| $foreign:expr;)*) => {
        $(impl StaticKey for $ty {
            const ITEM: Option<ItemKind> = Some(ItemKind::$item);

            #[inline(always)]
            fn encode(&self, sink: &mut Sink<'_>) {
                let $x = *self;
                sink.word($word);
            }

            fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $shown = *self;
                if f.alternate() { f.write_str(&$foreign) } else { write!(f, "{self:?}") }
            }

            #[inline]
            fn from_value($value: StaticValue<'_>) -> Result<Self, Mismatch> {
                $from
            }
        })*
    };
}

/// A static value as an integer of a type that `i128` holds.
macro_rules! integer {
    ($value:ident as $ty:ty) => {
        $value.integer(<$ty>::MIN as i128, <$ty>::MAX as i128).map(|x| x as $ty)
    };
}

/// An integer as another language writes it.
macro_rules! whole {
    ($x:ident) => {
        i64::try_from($x).map_or_else(|_| $x.to_string(), |x| StaticItem::Integer(x).text())
    };
}

by_word! {
    bool, Logical: |x| x as u64, |v| v.logical(), |x| StaticItem::Logical(x).text();
    char, Text: |x| x as u64, |v| v.character(), |x| StaticItem::Text(x.encode_utf8(&mut [0; 4])).text();
    i8, Number: |x| x as u64, |v| integer!(v as i8), |x| x.to_string();
    i16, Number: |x| x as u64, |v| integer!(v as i16), |x| x.to_string();
    i32, Number: |x| x as u64, |v| integer!(v as i32), |x| x.to_string();
    i64, Number: |x| x as u64, |v| integer!(v as i64), |x| StaticItem::Integer(x).text();
    isize, Number: |x| x as u64, |v| integer!(v as isize), |x| whole!(x);
    u8, Number: |x| x as u64, |v| integer!(v as u8), |x| x.to_string();
    u16, Number: |x| x as u64, |v| integer!(v as u16), |x| x.to_string();
    u32, Number: |x| x as u64, |v| integer!(v as u32), |x| x.to_string();
    u64, Number: |x| x, |v| integer!(v as u64), |x| whole!(x);
    usize, Number: |x| x as u64, |v| integer!(v as usize), |x| whole!(x);
    f32, Number: |x| if x.is_nan() { f32::NAN.to_bits() as u64 } else { x.to_bits() as u64 }, |v| v.single(), |x| number(x);
    f64, Number: |x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }, |v| v.double(), |x| number(x);
    crate::DType, Text: |x| x as u64, |v| v.dtype(), |x| StaticItem::Text(x.r_name()).text();
}

macro_rules! wide {
    ($($ty:ty)*) => {
        $(impl StaticKey for $ty {
            const ITEM: Option<ItemKind> = Some(ItemKind::Number);

            fn encode(&self, sink: &mut Sink<'_>) {
                sink.word(*self as u64);
                sink.word((*self >> 64) as u64);
            }

            fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let x = *self;
                if f.alternate() { f.write_str(&whole!(x)) } else { write!(f, "{self}") }
            }

            fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
                value.integer((<$ty>::MIN as i128).min(0), <$ty>::MAX.try_into().unwrap_or(i128::MAX)).map(|x| x as $ty)
            }
        })*
    };
}

wide!(i128 u128);

impl StaticKey for String {
    const ITEM: Option<ItemKind> = Some(ItemKind::Text);

    fn encode(&self, sink: &mut Sink<'_>) {
        sink.bytes(self.as_bytes());
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        value.text().map(str::to_owned)
    }
}

impl StaticKey for &'static str {
    fn encode(&self, sink: &mut Sink<'_>) {
        sink.bytes(self.as_bytes());
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl StaticKey for () {
    fn encode(&self, _: &mut Sink<'_>) {}

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("()")
    }
}

impl<T: StaticKey> StaticKey for Option<T> {
    const ITEM: Option<ItemKind> = T::ITEM;

    fn encode(&self, sink: &mut Sink<'_>) {
        sink.word(self.is_some() as u64);
        if let Some(x) = self {
            x.encode(sink);
        }
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Some(x) if f.alternate() => x.describe(f),
            None if f.alternate() => f.write_str("NULL"),
            Some(x) => write!(f, "Some({})", Described(x)),
            None => f.write_str("None"),
        }
    }

    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        let or_null = |m: Mismatch| Mismatch { expected: format!("NULL or {}", m.expected), ..m };
        match value {
            StaticValue::Null => Ok(None),
            value => T::from_value(value).map(Some).map_err(or_null),
        }
    }
}

impl<T: StaticKey> StaticKey for Box<T> {
    const ITEM: Option<ItemKind> = T::ITEM;

    fn encode(&self, sink: &mut Sink<'_>) {
        (**self).encode(sink);
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).describe(f)
    }

    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        T::from_value(value).map(Box::new)
    }
}

impl<T: StaticKey> StaticKey for Vec<T> {
    fn encode(&self, sink: &mut Sink<'_>) {
        sink.word(self.len() as u64);
        self.iter().for_each(|x| x.encode(sink));
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_list(self, f)
    }

    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        let element = |(i, item): (usize, &_)| {
            T::from_value(StaticValue::Vector(std::slice::from_ref(item))).map_err(|m| Mismatch {
                expected: format!("a vector with {} as element {}", m.expected, i + 1),
                ..m
            })
        };
        items_of::<T>(value, "a vector".into())?.iter().enumerate().map(element).collect()
    }
}

/// The elements of a vector of `T`, which is described by `vector`. An empty one has a kind as well.
fn items_of<'a, T: StaticKey>(
    value: StaticValue<'a>,
    vector: String,
) -> Result<&'a [StaticItem<'a>], Mismatch> {
    match value {
        StaticValue::Vector(items) => Ok(items),
        StaticValue::Empty(kind) if T::ITEM == Some(kind) => Ok(&[]),
        _ => Err(value.mismatch(format!("{vector}, each element {}", expected(T::from_value)))),
    }
}

/// What values of another language become values of a type, in words; `from` is the type's [`StaticKey::from_value`].
///
/// ```
/// use dispatch_runtime::key::{StaticKey, expected};
///
/// assert_eq!(expected(Option::<u8>::from_value), "NULL or a whole number from 0 to 255");
/// ```
pub fn expected<T>(from: impl FnOnce(StaticValue<'_>) -> Result<T, Mismatch>) -> String {
    from(StaticValue::Other("")).err().map(|wrong| wrong.expected).unwrap_or_default()
}

impl<T: StaticKey, const N: usize> StaticKey for [T; N] {
    fn encode(&self, sink: &mut Sink<'_>) {
        self.iter().for_each(|x| x.encode(sink));
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_list(self, f)
    }

    fn from_value(value: StaticValue<'_>) -> Result<Self, Mismatch> {
        let vector = format!("a vector of length {N}");
        if items_of::<T>(value, vector.clone())?.len() != N {
            return Err(value.mismatch(vector));
        }
        Vec::from_value(value)?.try_into().map_err(|_| value.mismatch(vector))
    }
}

fn describe_list<T: StaticKey>(list: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (open, close) = match (f.alternate(), list) {
        (false, _) => ("[", "]"),
        // A vector of one is a scalar.
        (true, [only]) => return only.describe(f),
        (true, []) => return f.write_str(empty(T::ITEM)),
        (true, _) => ("c(", ")"),
    };
    f.write_str(open)?;
    for (i, x) in list.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        x.describe(f)?;
    }
    f.write_str(close)
}

macro_rules! tuples {
    ($($(($name:ident, $i:tt))+;)*) => {
        $(impl<$($name: StaticKey),+> StaticKey for ($($name,)+) {
            fn encode(&self, sink: &mut Sink<'_>) {
                $(self.$i.encode(sink);)+
            }

            fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("(")?;
                $(write!(f, "{}{}", if $i > 0 { ", " } else { "" }, Described(&self.$i))?;)+
                f.write_str(")")
            }
        })*
    };
}

tuples! {
    (A, 0);
    (A, 0) (B, 1);
    (A, 0) (B, 1) (C, 2);
    (A, 0) (B, 1) (C, 2) (D, 3);
    (A, 0) (B, 1) (C, 2) (D, 3) (E, 4);
    (A, 0) (B, 1) (C, 2) (D, 3) (E, 4) (F, 5);
}
