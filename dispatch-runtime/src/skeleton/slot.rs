//! Slots, and Rust's operators on them.

use std::fmt;
use std::ops;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::DType;
use crate::graph::{Arg, Operand, Value, slots};

/// An input of a [`Skeleton`](super::Skeleton): a dtype and a shape without data, and a name for messages.
///
/// It stands in expressions as the [`Value`] that it derefs to: with operators, methods and numbers. A clone is the same
/// slot. What is made of slots can be evaluated by [`into_skeleton`](super::IntoSkeleton::into_skeleton) only; slots and
/// inputs of a [`Graph`](crate::graph::Graph) do not mix.
///
/// The layout is exact: an array that is given for a slot has its dtype and its shape, of rank 0 too. Arrays on a device
/// are dense, row-major and begin at their first element, so dtype and shape are all there is to compare.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
///
/// let x = SkeletonSlot::new(DType::F32, [2, 3]).named("x");
/// let y = (&x * 2.0).exp() / x.sum(keep(1)) - 1.0;
/// assert_eq!((y.dtype(), y.shape()), (DType::F32, &[2, 3][..]));
/// # use dispatch_runtime::graph::keep;
/// ```
///
/// If no array can have the shape, the slot is a [poisoned](Value::check) value: the error comes from `into_skeleton`.
#[derive(Clone)]
pub struct SkeletonSlot(Value);

impl SkeletonSlot {
    /// A slot for arrays of exactly this dtype and shape.
    #[track_caller]
    pub fn new(dtype: DType, shape: impl AsRef<[i64]>) -> SkeletonSlot {
        SkeletonSlot(slots::slot(dtype, shape.as_ref()))
    }

    /// Names the slot: the name stands in errors and in the program's text.
    pub fn named(self, name: impl AsRef<str>) -> SkeletonSlot {
        SkeletonSlot(self.0.named(name))
    }

    /// The slot as a value: where a result of a skeleton is a slot itself, or a closure wants a [`Value`].
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl ops::Deref for SkeletonSlot {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Operand for SkeletonSlot {
    fn operand(&self) -> Arg<'_> {
        self.0.operand()
    }
}

/// `x: f32[2,3]`, or without the name if there is none.
impl fmt::Debug for SkeletonSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! binary {
    ($($trait:ident::$method:ident;)*) => {
        $(
            impl<T: Operand> ops::$trait<T> for SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    ops::$trait::$method(self.0, other)
                }
            }

            impl<T: Operand> ops::$trait<T> for &SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    ops::$trait::$method(&self.0, other)
                }
            }

            binary!(@numbers $trait::$method;
                bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f16 bf16 f32 f64 Complex32 Complex64);
        )*
    };
    (@numbers $trait:ident::$method:ident; $($number:ty)*) => {
        $(
            impl ops::$trait<SkeletonSlot> for $number {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: SkeletonSlot) -> Value {
                    ops::$trait::$method(self, other.0)
                }
            }

            impl ops::$trait<&SkeletonSlot> for $number {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: &SkeletonSlot) -> Value {
                    ops::$trait::$method(self, &other.0)
                }
            }
        )*
    };
}

binary! {
    Add::add;
    Sub::sub;
    Mul::mul;
    Div::div;
    Rem::rem;
    BitAnd::bitand;
    BitOr::bitor;
    BitXor::bitxor;
}

macro_rules! unary {
    ($($trait:ident::$method:ident;)*) => {
        $(
            impl ops::$trait for SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self) -> Value {
                    ops::$trait::$method(self.0)
                }
            }

            impl ops::$trait for &SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self) -> Value {
                    ops::$trait::$method(&self.0)
                }
            }
        )*
    };
}

unary! {
    Neg::neg;
    Not::not;
}
