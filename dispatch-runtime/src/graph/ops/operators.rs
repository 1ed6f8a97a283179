//! Rust's operators on values and numbers.

use std::ops;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::operand::{Arg, Operand};
use super::super::value::Value;
use super::elementwise::{Takes, binary};

macro_rules! operators {
    ($($trait:ident::$method:ident, $assign:ident::$assign_method:ident = $name:ident, $text:literal, $takes:expr;)*) => {
        $(
            impl<T: Operand> ops::$trait<T> for Value {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    Value::$name(&self, other)
                }
            }

            impl<T: Operand> ops::$trait<T> for &Value {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: T) -> Value {
                    Value::$name(self, other)
                }
            }

            impl<T: Operand> ops::$assign<T> for Value {
                #[track_caller]
                fn $assign_method(&mut self, other: T) {
                    *self = Value::$name(self, other);
                }
            }

            operators!(@numbers $trait::$method = $name, $text, $takes;
                bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f16 bf16 f32 f64 Complex32 Complex64);
        )*
    };
    (@numbers $trait:ident::$method:ident = $name:ident, $text:literal, $takes:expr; $($number:tt)*) => {
        $(
            impl ops::$trait<Value> for $number {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: Value) -> Value {
                    binary(stringify!($name), $text, $takes, self.operand(), Arg::Value(&other))
                }
            }

            impl ops::$trait<&Value> for $number {
                type Output = Value;

                #[track_caller]
                fn $method(self, other: &Value) -> Value {
                    binary(stringify!($name), $text, $takes, self.operand(), Arg::Value(other))
                }
            }
        )*
    };
}

operators! {
    Add::add, AddAssign::add_assign = add, "stablehlo.add $0, $1", Takes::NUMBERS;
    Sub::sub, SubAssign::sub_assign = sub, "stablehlo.subtract $0, $1", Takes::NUMBERS;
    Mul::mul, MulAssign::mul_assign = mul, "stablehlo.multiply $0, $1", Takes::NUMBERS;
    Div::div, DivAssign::div_assign = div, "stablehlo.divide $0, $1", Takes::NUMBERS;
    Rem::rem, RemAssign::rem_assign = rem, "stablehlo.remainder $0, $1", Takes::REALS;
    BitAnd::bitand, BitAndAssign::bitand_assign = and, "stablehlo.and $0, $1", Takes::BITS;
    BitOr::bitor, BitOrAssign::bitor_assign = or, "stablehlo.or $0, $1", Takes::BITS;
    BitXor::bitxor, BitXorAssign::bitxor_assign = xor, "stablehlo.xor $0, $1", Takes::BITS;
}

macro_rules! unary {
    ($($trait:ident::$method:ident = $name:ident;)*) => {
        $(
            impl ops::$trait for Value {
                type Output = Value;

                #[track_caller]
                fn $method(self) -> Value {
                    Value::$name(&self)
                }
            }

            impl ops::$trait for &Value {
                type Output = Value;

                #[track_caller]
                fn $method(self) -> Value {
                    Value::$name(self)
                }
            }
        )*
    };
}

unary! {
    Neg::neg = neg;
    Not::not = not;
}
