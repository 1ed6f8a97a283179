//! Operations on each element, from one operand or two.

use super::super::make::op;
use super::super::operand::{Arg, Operand, Scalar};
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::broadcast::common_shape;
use crate::{Aval, DType};

/// The dtypes that an operation takes.
#[derive(Clone, Copy)]
pub(super) struct Takes(u8);

const BOOL: u8 = 1;
const SIGNED: u8 = 2;
const UNSIGNED: u8 = 4;
const FLOAT: u8 = 8;
const COMPLEX: u8 = 16;
const INT: u8 = SIGNED | UNSIGNED;
const REAL: u8 = INT | FLOAT;
const NUMBER: u8 = REAL | COMPLEX;

impl Takes {
    pub const FLOATS: Takes = Takes(FLOAT);
    pub const NUMBERS: Takes = Takes(NUMBER);
    pub const REALS: Takes = Takes(REAL);
    pub const ORDERED: Takes = Takes(REAL | BOOL);
    pub const ANALYTIC: Takes = Takes(FLOAT | COMPLEX);
    pub const COMPLEX: Takes = Takes(COMPLEX);
    pub const BOOLS: Takes = Takes(BOOL);
    pub const INTS: Takes = Takes(INT);
    pub const BITS: Takes = Takes(BOOL | INT);

    /// An error that says which dtypes there could be, unless this is one of them.
    pub fn check(self, dtype: DType) -> Result<(), Reason> {
        let class = match dtype {
            DType::Bool => BOOL,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => SIGNED,
            _ if dtype.is_int() => UNSIGNED,
            _ if dtype.is_float() => FLOAT,
            _ => COMPLEX,
        };
        if self.0 & class != 0 {
            return Ok(());
        }
        const CLASSES: [(u8, &str); 4] =
            [(INT, "integers"), (SIGNED, "signed integers"), (FLOAT, "floats"), (COMPLEX, "complex numbers")];
        let mut names: Vec<&str> = Vec::new();
        let mut left = self.0;
        if left & BOOL != 0 {
            names.push("bool");
        }
        for (bits, name) in CLASSES {
            if left & bits == bits {
                names.push(name);
                left &= !bits;
            }
        }
        let takes = match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => unreachable!("every operation takes some dtype"),
        };
        Err(format!("it takes {takes}, not {dtype}; `convert` the value"))
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $takes:expr;)*) => {
        impl Value {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&self) -> Value {
                    build(stringify!($name), &[Arg::Value(self)], || {
                        Takes($takes).check(self.dtype())?;
                        Ok(op(concat!("stablehlo.", $text, " $0"), Types::Same, [self], self.aval().clone()))
                    })
                }
            )*
        }
    };
}

unary! {
    /// The number with its sign changed. Of an unsigned integer: two's complement.
    neg = "negate", NUMBER;
    /// -1, 0 or 1, NaN of NaN; of a complex number, the number of modulus 1 in its direction.
    sign = "sign", SIGNED | FLOAT | COMPLEX;
    /// The least integer that is not less.
    ceil = "ceil", FLOAT;
    /// The greatest integer that is not greater.
    floor = "floor", FLOAT;
    /// The nearest integer, the even one where two are as near, as numpy and R round.
    round = "round_nearest_even", FLOAT;
    /// The nearest integer, the one farther from zero where two are as near.
    round_half_away = "round_nearest_afz", FLOAT;
    /// The square root; NaN of a negative number.
    sqrt = "sqrt", FLOAT | COMPLEX;
    /// One divided by the square root.
    rsqrt = "rsqrt", FLOAT | COMPLEX;
    /// The cube root.
    cbrt = "cbrt", FLOAT;
    /// The exponential.
    exp = "exponential", FLOAT | COMPLEX;
    /// The exponential minus 1, exact near 0.
    expm1 = "exponential_minus_one", FLOAT | COMPLEX;
    /// The natural logarithm; NaN of a negative number.
    log = "log", FLOAT | COMPLEX;
    /// The natural logarithm of 1 plus the number, exact near 0.
    log1p = "log_plus_one", FLOAT | COMPLEX;
    /// The logistic function, `1 / (1 + exp(-x))`.
    logistic = "logistic", FLOAT | COMPLEX;
    /// The hyperbolic tangent.
    tanh = "tanh", FLOAT | COMPLEX;
    /// The sine of an angle in radians.
    sin = "sine", FLOAT | COMPLEX;
    /// The cosine of an angle in radians.
    cos = "cosine", FLOAT | COMPLEX;
    /// The tangent of an angle in radians.
    tan = "tan", FLOAT | COMPLEX;
    /// Each bit, or the truth value, turned around.
    not = "not", BOOL | INT;
    /// The number of bits that are 1.
    popcnt = "popcnt", INT;
    /// The number of zero bits above the highest 1.
    count_leading_zeros = "count_leading_zeros", INT;
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $takes:expr;)*) => {
        impl Value {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&self, other: impl Operand) -> Value {
                    let other = other.operand();
                    binary(stringify!($name), concat!("stablehlo.", $text, " $0, $1"), Takes($takes), Arg::Value(self), other)
                }
            )*
        }
    };
}

binary! {
    /// The sum. Integers wrap around.
    add = "add", NUMBER;
    /// The difference. Integers wrap around.
    sub = "subtract", NUMBER;
    /// The product. Integers wrap around.
    mul = "multiply", NUMBER;
    /// The quotient. Of integers: rounded towards zero; by 0 it is -1 (all bits 1), and the least number by -1 is itself.
    div = "divide", NUMBER;
    /// The remainder, with the sign of `self`. Of integers by 0: `self`.
    rem = "remainder", REAL;
    /// The power. Of integers: by repeated multiplication, wrapping around; an exponent that is negative or above 63 gives
    /// whatever the device gives.
    pow = "power", NUMBER;
    /// The greater one; NaN if one is NaN. Of two zeros with different signs: either.
    maximum = "maximum", REAL | BOOL;
    /// The smaller one; NaN if one is NaN. Of two zeros with different signs: either.
    minimum = "minimum", REAL | BOOL;
    /// The angle of the point `(other, self)`, in radians from -π to π.
    atan2 = "atan2", FLOAT | COMPLEX;
    /// Logical or bitwise and.
    and = "and", BOOL | INT;
    /// Logical or bitwise or.
    or = "or", BOOL | INT;
    /// Logical or bitwise exclusive or.
    xor = "xor", BOOL | INT;
    /// The bits shifted to the left; 0 if shifted by as many bits as there are, or more.
    shl = "shift_left", INT;
    /// The bits shifted to the right, filled with the sign.
    shr_arithmetic = "shift_right_arithmetic", INT;
    /// The bits shifted to the right, filled with zeros.
    shr_logical = "shift_right_logical", INT;
}

/// An operation on two operands of one dtype, broadcast to one shape.
#[track_caller]
pub(super) fn binary(name: &'static str, text: &'static str, takes: Takes, a: Arg<'_>, b: Arg<'_>) -> Value {
    build(name, &[a, b], || {
        let given = b;
        let (a, b) = pair(a, b)?;
        takes.check(a.dtype())?;
        let result = a.aval().clone();
        let b = if matches!(name, "div" | "rem") { divisor(given, b) } else { b };
        Ok(op(text, Types::Same, [&a, &b], result))
    })
}

/// The divisor, such that no plugin divides by a zero while it compiles: two of them end the process by that, where a
/// program that runs gives what StableHLO says.
#[track_caller]
fn divisor(given: Arg<'_>, divisor: Value) -> Value {
    let may_be_known_zero = match given {
        Arg::Scalar(Scalar::Int(x)) => x == 0,
        Arg::Scalar(_) => false,
        // What depends on an argument of the program is not known.
        Arg::Value(_) => divisor.node.scope.is_none(),
    };
    if !divisor.dtype().is_int() || !may_be_known_zero {
        return divisor;
    }
    let result = divisor.aval().clone();
    op("stablehlo.optimization_barrier $0", Types::Same, [&divisor], result)
}

/// Two operands at one dtype and shape; one of them at least is a value.
#[track_caller]
pub(super) fn pair(a: Arg<'_>, b: Arg<'_>) -> Result<(Value, Value), Reason> {
    match (a, b) {
        (Arg::Value(a), Arg::Value(b)) => {
            same_dtype(a, b)?;
            if a.shape() == b.shape() {
                return Ok((a.clone(), b.clone()));
            }
            let shape = common_shape(a.shape(), b.shape())?;
            Ok((a.broadcast_to_shape(&shape)?, b.broadcast_to_shape(&shape)?))
        }
        (Arg::Value(a), b) => Ok((a.clone(), b.at(a.dtype(), a.shape())?)),
        (a, Arg::Value(b)) => Ok((a.at(b.dtype(), b.shape())?, b.clone())),
        (Arg::Scalar(_), Arg::Scalar(_)) => unreachable!("an operation has a value among its operands"),
    }
}

/// Dtypes are never promoted: an error says how to convert.
pub(super) fn same_dtype(a: &Value, b: &Value) -> Result<(), Reason> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    let (a, b) = (a.dtype(), b.dtype());
    Err(format!(
        "{a} and {b} are different dtypes; write `.convert(DType::{a:?})` or `.convert(DType::{b:?})`",
        a = Variant(a),
        b = Variant(b)
    ))
}

/// A dtype as Rust writes it: `F32`.
struct Variant(DType);

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Debug for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            DType::Bool => f.write_str("Bool"),
            dtype => f.write_str(&dtype.name().to_uppercase()),
        }
    }
}

impl Value {
    /// The absolute value. Of a complex number: its modulus, a float. The least signed integer stays as it is.
    #[track_caller]
    pub fn abs(&self) -> Value {
        build("abs", &[Arg::Value(self)], || {
            Takes::NUMBERS.check(self.dtype())?;
            match self.dtype() {
                DType::U8 | DType::U16 | DType::U32 | DType::U64 => Ok(self.clone()),
                dtype => {
                    let result = Aval::new(part(dtype).unwrap_or(dtype), self.shape());
                    Ok(op("stablehlo.abs $0", Types::Function, [self], result))
                }
            }
        })
    }

    /// One divided by the number.
    #[track_caller]
    pub fn recip(&self) -> Value {
        build("recip", &[Arg::Value(self)], || {
            Takes::ANALYTIC.check(self.dtype())?;
            Ok(binary("div", "stablehlo.divide $0, $1", Takes::ANALYTIC, 1.0.operand(), Arg::Value(self)))
        })
    }

    /// The number multiplied with itself.
    #[track_caller]
    pub fn square(&self) -> Value {
        build("square", &[Arg::Value(self)], || {
            Takes::NUMBERS.check(self.dtype())?;
            Ok(self.mul(self))
        })
    }

    /// Whether the number is neither infinite nor NaN.
    #[track_caller]
    pub fn is_finite(&self) -> Value {
        build("is_finite", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(op("stablehlo.is_finite $0", Types::Function, [self], Aval::new(DType::Bool, self.shape())))
        })
    }

    /// Whether the number is NaN.
    #[track_caller]
    pub fn is_nan(&self) -> Value {
        build("is_nan", &[Arg::Value(self)], || {
            Takes::ANALYTIC.check(self.dtype())?;
            Ok(self.ne(self))
        })
    }

    /// Whether the number is an infinity.
    #[track_caller]
    pub fn is_inf(&self) -> Value {
        build("is_inf", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(self.abs().eq(f64::INFINITY))
        })
    }

    /// The real part, a float.
    #[track_caller]
    pub fn real(&self) -> Value {
        self.part_of("real", "stablehlo.real $0")
    }

    /// The imaginary part, a float.
    #[track_caller]
    pub fn imag(&self) -> Value {
        self.part_of("imag", "stablehlo.imag $0")
    }

    #[track_caller]
    fn part_of(&self, name: &'static str, text: &'static str) -> Value {
        build(name, &[Arg::Value(self)], || {
            Takes(COMPLEX).check(self.dtype())?;
            let dtype = part(self.dtype()).expect("a complex number has parts");
            Ok(op(text, Types::Function, [self], Aval::new(dtype, self.shape())))
        })
    }

    /// The complex number with `self` as its real part: `c64` from `f32`, `c128` from `f64`.
    #[track_caller]
    pub fn complex(&self, imag: impl Operand) -> Value {
        let imag = imag.operand();
        build("complex", &[Arg::Value(self), imag], || {
            let (re, im) = pair(Arg::Value(self), imag)?;
            let dtype = match re.dtype() {
                DType::F32 => DType::C64,
                DType::F64 => DType::C128,
                other => return Err(format!("it takes f32 or f64, not {other}; `convert` the value")),
            };
            let result = Aval::new(dtype, re.shape());
            Ok(op("stablehlo.complex $0, $1", Types::Function, [&re, &im], result))
        })
    }

    /// The complex conjugate.
    #[track_caller]
    pub fn conj(&self) -> Value {
        build("conj", &[Arg::Value(self)], || {
            Takes(COMPLEX).check(self.dtype())?;
            Ok(self.real().complex(self.imag().neg()))
        })
    }
}

/// The dtype of the parts of a complex number.
pub(super) fn part(dtype: DType) -> Option<DType> {
    match dtype {
        DType::C64 => Some(DType::F32),
        DType::C128 => Some(DType::F64),
        _ => None,
    }
}
