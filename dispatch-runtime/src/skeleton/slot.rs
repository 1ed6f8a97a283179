//! Slots, and Rust's operators on them.

use std::fmt;
use std::ops;
use std::rc::Rc;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::graph::{Arg, Operand, Value, slots};
use crate::{Aval, DType};

/// An input of a [`Skeleton`](super::Skeleton): a dtype and a shape without data, and a name for messages.
///
/// It stands in expressions as the [`Value`] that it derefs to: with operators, methods and numbers. A clone is the same
/// slot. What is made of slots can be evaluated by [`into_skeleton`](super::IntoSkeleton::into_skeleton) only; slots and
/// inputs of a [`Graph`](crate::graph::Graph) do not mix.
///
/// The layout is exact: what is given for a slot has its dtype and its shape, of rank 0 too. Arrays on a device are dense,
/// row-major from the first element on. Host data may be otherwise; then the slot says how, see
/// [`strided`](SkeletonSlot::strided).
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
/// If no array can have the shape, or no data the strides, the slot is a [poisoned](Value::check) value: the error comes
/// from `into_skeleton`.
#[derive(Clone)]
pub struct SkeletonSlot {
    value: Value,
    /// What an input has to be, if that is not what the value is: with strides or an offset.
    strided: Option<Rc<Aval>>,
    donated: bool,
}

impl SkeletonSlot {
    /// A slot for arrays, or dense host data, of exactly this dtype and shape.
    #[track_caller]
    pub fn new(dtype: DType, shape: impl AsRef<[i64]>) -> SkeletonSlot {
        SkeletonSlot { value: slots::slot(dtype, shape.as_ref()), strided: None, donated: false }
    }

    /// A slot for what a [`DynamicSkeleton`](super::DynamicSkeleton) is asked for: of this dtype, shape, strides and offset.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let columns = Aval::strided(DType::F32, [2, 3], [1, 2], 0)?;
    /// assert_eq!(SkeletonSlot::of(&columns).layout(), columns);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn of(layout: &Aval) -> SkeletonSlot {
        let slot = SkeletonSlot::new(layout.dtype(), layout.shape());
        match layout.is_dense() {
            true => slot,
            false => SkeletonSlot { strided: Some(Rc::new(layout.clone())), ..slot },
        }
    }

    /// Says that an input is host data whose elements lie `strides` apart along each dimension, the first of them at
    /// `offset`, both counted in elements: a [`HostView`](crate::HostView) of exactly this layout.
    ///
    /// The expression sees the array that the view stands for. A layout that is row-major from the first element on is the
    /// same as none; else an array, which is always so, is an error.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F32, [2, 3]).strided([1, 2], 0).named("x");
    /// let rows = x.sum(1).into_skeleton(&client, &[&x])?;
    ///
    /// let data = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let columns = HostView::column_major(&data, &[2, 3])?;
    /// assert_eq!(rows.run(&[columns])?.to_vec::<f32>()?, [9.0, 12.0]);
    ///
    /// let error = rows.run(&[HostView::new(&data, &[2, 3])?]).unwrap_err();
    /// assert_eq!(error.to_string(), "argument `x`: expected strides [1,2], got row-major data");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn strided(self, strides: impl AsRef<[i64]>, offset: usize) -> SkeletonSlot {
        match slots::strided(&self.value, strides.as_ref(), offset) {
            Ok(layout) => {
                let strided = (!layout.is_dense()).then(|| Rc::new(layout));
                SkeletonSlot { strided, ..self }
            }
            Err(poisoned) => SkeletonSlot { value: poisoned, strided: None, ..self },
        }
    }

    /// Names the slot: the name stands in errors and in the program's text.
    pub fn named(self, name: impl AsRef<str>) -> SkeletonSlot {
        SkeletonSlot { value: slots::named(self.value, name.as_ref()), ..self }
    }

    /// Makes every run consume what it is given for this slot, as a donated argument of a family: a result may take over
    /// its memory, and using the array afterwards is an error. What counts is whether the slot that `into_skeleton` gets
    /// is donated.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let state = SkeletonSlot::new(DType::F32, [2]).named("state").donated();
    /// let step = (&state * 0.5).into_skeleton(&client, &[&state])?;
    ///
    /// let start = client.array(&[4f32, 8.0], [2])?;
    /// let next = step.run(&[&start])?;
    /// assert_eq!(step.run(&[&next])?.to_vec::<f32>()?, [1.0, 2.0]);
    ///
    /// let error = step.run(&[&start]).unwrap_err();
    /// assert_eq!(error.to_string(), "argument `state`: the array was donated to an earlier call and is gone");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn donated(self) -> SkeletonSlot {
        SkeletonSlot { donated: true, ..self }
    }

    /// Whether a run consumes what it is given for this slot.
    pub fn is_donated(&self) -> bool {
        self.donated
    }

    /// The slot as a value: where a result of a skeleton is a slot itself, or a closure wants a [`Value`].
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What an input has to be. The [`aval`](Value::aval) that the slot has as a value is the same without strides and
    /// offset.
    pub fn layout(&self) -> Aval {
        self.strided.as_deref().unwrap_or_else(|| self.value.aval()).clone()
    }
}

impl ops::Deref for SkeletonSlot {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl Operand for SkeletonSlot {
    fn operand(&self) -> Arg<'_> {
        self.value.operand()
    }
}

/// `x: f32[2,3]`, or without the name if there is none; the value, without strides.
impl fmt::Debug for SkeletonSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

macro_rules! binary {
    ($($trait:ident::$method:ident;)*) => {
        $(
            impl<T: Operand> ops::$trait<T> for SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    ops::$trait::$method(self.value, other)
                }
            }

            impl<T: Operand> ops::$trait<T> for &SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    ops::$trait::$method(&self.value, other)
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
                    ops::$trait::$method(self, other.value)
                }
            }

            impl ops::$trait<&SkeletonSlot> for $number {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: &SkeletonSlot) -> Value {
                    ops::$trait::$method(self, &other.value)
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
                    ops::$trait::$method(self.value)
                }
            }

            impl ops::$trait for &SkeletonSlot {
                type Output = Value;

                #[track_caller]
                fn $method(self) -> Value {
                    ops::$trait::$method(&self.value)
                }
            }
        )*
    };
}

unary! {
    Neg::neg;
    Not::not;
}
