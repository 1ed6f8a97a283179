//! What may stand beside a value: another value, or a Rust number that takes its dtype.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;

use super::constant;
use super::poison::Reason;
use super::value::Value;
use crate::{DType, Element};

/// An operand of an operation: a [`Value`], or a Rust number that takes the dtype of the other operand.
///
/// A number has to fit: 300 is no `i8`, 1.5 no `i32`, and 1e300 no `f32`, which are errors. Floats round to the nearest
/// value of the dtype.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a graph",
    label = "not a graph value or a number",
    note = "an operand is a `Value`, a reference to one, a number, a bool, or a `Complex` number"
)]
pub trait Operand {
    #[doc(hidden)]
    fn operand(&self) -> Arg<'_>;
}

/// An operand by reference.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    Value(&'a Value),
    Scalar(Scalar),
}

/// A Rust number.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

impl<'a> Arg<'a> {
    pub(super) fn value(&self) -> Option<&'a Value> {
        match self {
            Arg::Value(value) => Some(value),
            Arg::Scalar(_) => None,
        }
    }

    /// The value itself, or a constant of this dtype and shape.
    pub(super) fn at(&self, dtype: DType, shape: &[i64]) -> Result<Value, Reason> {
        match *self {
            Arg::Value(value) => Ok(value.clone()),
            Arg::Scalar(scalar) => constant::splat(scalar, dtype, shape),
        }
    }
}

/// As it stands in messages: `x: f32[2,3]`, or the number.
impl fmt::Display for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Value(value) => fmt::Debug::fmt(value, f),
            Arg::Scalar(scalar) => scalar.fmt(f),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(x) => x.fmt(f),
            Scalar::Int(x) => x.fmt(f),
            Scalar::Float(x) => write!(f, "{x:?}"),
            Scalar::Complex(re, im) => {
                write!(f, "{re:?}{}{:?}i", if im.is_sign_negative() { "-" } else { "+" }, im.abs())
            }
        }
    }
}

impl<'a> From<&'a Value> for Arg<'a> {
    fn from(value: &'a Value) -> Arg<'a> {
        Arg::Value(value)
    }
}

impl Operand for Value {
    fn operand(&self) -> Arg<'_> {
        Arg::Value(self)
    }
}

impl<T: Operand + ?Sized> Operand for &T {
    fn operand(&self) -> Arg<'_> {
        (**self).operand()
    }
}

impl Operand for Arg<'_> {
    fn operand(&self) -> Arg<'_> {
        *self
    }
}

/// Several operands, such as the places at which a slice starts: an array, a `Vec` or a tuple of values and numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of operands of a graph",
    label = "not a list of graph values and numbers",
    note = "write an array or a tuple of values and numbers: `[&i, &j]`, `(&i, 0)`"
)]
pub trait Operands {
    #[doc(hidden)]
    fn operands(&self) -> Vec<Arg<'_>>;
}

impl<T: Operand> Operands for [T] {
    fn operands(&self) -> Vec<Arg<'_>> {
        self.iter().map(T::operand).collect()
    }
}

impl<T: Operand, const N: usize> Operands for [T; N] {
    fn operands(&self) -> Vec<Arg<'_>> {
        self[..].operands()
    }
}

impl<T: Operand> Operands for Vec<T> {
    fn operands(&self) -> Vec<Arg<'_>> {
        self[..].operands()
    }
}

impl<T: Operands + ?Sized> Operands for &T {
    fn operands(&self) -> Vec<Arg<'_>> {
        (**self).operands()
    }
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),*);)*) => {
        $(impl<$($name: Operand),*> Operands for ($($name,)*) {
            fn operands(&self) -> Vec<Arg<'_>> {
                vec![$(self.$i.operand()),*]
            }
        })*
    };
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// A Rust type whose values are numbers of a graph.
pub(super) trait Number: Element {
    fn scalar(self) -> Scalar;
}

macro_rules! numbers {
    ($($rust:ty: $x:ident => $scalar:expr;)*) => {
        $(
            impl Number for $rust {
                fn scalar(self) -> Scalar {
                    let $x = self;
                    $scalar
                }
            }

            impl Operand for $rust {
                fn operand(&self) -> Arg<'_> {
                    Arg::Scalar(self.scalar())
                }
            }
        )*
    };
}

numbers! {
    bool: x => Scalar::Bool(x);
    i8: x => Scalar::Int(x.into());
    i16: x => Scalar::Int(x.into());
    i32: x => Scalar::Int(x.into());
    i64: x => Scalar::Int(x.into());
    u8: x => Scalar::Int(x.into());
    u16: x => Scalar::Int(x.into());
    u32: x => Scalar::Int(x.into());
    u64: x => Scalar::Int(x.into());
    f16: x => Scalar::Float(x.into());
    bf16: x => Scalar::Float(x.into());
    f32: x => Scalar::Float(x.into());
    f64: x => Scalar::Float(x);
    Complex<f32>: x => Scalar::Complex(x.re.into(), x.im.into());
    Complex<f64>: x => Scalar::Complex(x.re, x.im);
}

macro_rules! sizes {
    ($($rust:ty),*) => {
        $(impl Operand for $rust {
            fn operand(&self) -> Arg<'_> {
                Arg::Scalar(Scalar::Int(*self as i128))
            }
        })*
    };
}

sizes! { usize, isize }
