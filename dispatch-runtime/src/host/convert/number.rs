//! The numbers between the dtypes: what every element is exactly, and which element a number becomes.

use half::{bf16, f16};
use num_complex::Complex;

use crate::host::Element;

/// The exact value of an element of any dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    /// Every float type is a part of `f64`.
    Float(f64),
    Complex(f64, f64),
}

/// An element type to convert from.
pub(super) trait Source: Element {
    /// The exact value.
    fn number(self) -> Number;

    /// The value for messages.
    fn text(self) -> String;
}

/// An element type to convert to.
pub(crate) trait Target: Element {
    const ZERO: Self;

    /// The element that a number becomes; none where the rules refuse it.
    fn from_number(number: Number) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty => $number:ident),*) => {
        $(
            impl Source for $t {
                #[inline(always)]
                fn number(self) -> Number {
                    Number::$number(self.into())
                }

                fn text(self) -> String {
                    self.to_string()
                }
            }

            impl Target for $t {
                const ZERO: $t = 0;

                #[inline(always)]
                fn from_number(number: Number) -> Option<$t> {
                    match number {
                        Number::Signed(i) => <$t>::try_from(i).ok(),
                        Number::Unsigned(u) => <$t>::try_from(u).ok(),
                        Number::Float(x) => {
                            // The cast saturates and takes NaN to 0, so coming back to `x` proves it exact, except
                            // at the first float beyond the range: the largest i64 and u64 round up to it.
                            const END: f64 = (<$t>::MAX / 2 + 1) as f64 * 2.0;
                            let i = x as $t;
                            (i as f64 == x && x < END).then_some(i)
                        }
                        Number::Complex(..) => None,
                    }
                }
            }
        )*
    };
}

integers! {
    i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned
}

impl Source for bool {
    #[inline(always)]
    fn number(self) -> Number {
        Number::Unsigned(self.into())
    }

    fn text(self) -> String {
        self.to_string()
    }
}

impl Target for bool {
    const ZERO: bool = false;

    #[inline(always)]
    fn from_number(number: Number) -> Option<bool> {
        match u8::from_number(number)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! floats {
    ($($t:ty),*) => {
        $(
            impl Source for $t {
                #[inline(always)]
                fn number(self) -> Number {
                    Number::Float(self.into())
                }

                fn text(self) -> String {
                    format!("{self:?}")
                }
            }
        )*
    };
}

floats! { f16, bf16, f32, f64 }

impl Target for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn from_number(number: Number) -> Option<f64> {
        match number {
            Number::Signed(i) => Some(i as f64),
            Number::Unsigned(u) => Some(u as f64),
            Number::Float(x) => Some(x),
            Number::Complex(..) => None,
        }
    }
}

impl Target for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn from_number(number: Number) -> Option<f32> {
        match number {
            // Casts round to nearest, straight from the integer.
            Number::Signed(i) => Some(i as f32),
            Number::Unsigned(u) => Some(u as f32),
            Number::Float(x) => {
                let y = x as f32;
                (y.is_finite() || !x.is_finite()).then_some(y)
            }
            Number::Complex(..) => None,
        }
    }
}

// The conversions of `half` from f64 drop the low 32 bits before they round, so that a value just above a tie goes
// down; and there are none from integers.
macro_rules! narrow_floats {
    ($($t:ty: mantissa $mantissa:literal, bias $bias:literal;)*) => {
        $(
            impl Target for $t {
                const ZERO: $t = <$t>::ZERO;

                #[inline]
                fn from_number(number: Number) -> Option<$t> {
                    let (negative, magnitude) = match number {
                        Number::Signed(i) => (i < 0, round::<$mantissa, $bias>(i.unsigned_abs(), 0)?),
                        Number::Unsigned(u) => (false, round::<$mantissa, $bias>(u, 0)?),
                        Number::Float(x) if x.is_nan() => return Some(<$t>::NAN),
                        Number::Float(x) if x.is_infinite() => (x < 0.0, <$t>::INFINITY.to_bits()),
                        Number::Float(x) => {
                            let (significand, exponent) = decompose(x);
                            (x.is_sign_negative(), round::<$mantissa, $bias>(significand, exponent)?)
                        }
                        Number::Complex(..) => return None,
                    };
                    Some(<$t>::from_bits(magnitude | u16::from(negative) << 15))
                }
            }
        )*
    };
}

narrow_floats! {
    f16: mantissa 10, bias 15;
    bf16: mantissa 7, bias 127;
}

/// The magnitude of a finite float as `significand * 2^exponent`.
#[inline]
fn decompose(x: f64) -> (u64, i32) {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    match (bits >> 52 & 0x7FF) as i32 {
        0 => (bits & FRACTION, -1074),
        field => (bits & FRACTION | 1 << 52, field - 1075),
    }
}

/// The bits of `significand * 2^exponent` rounded to nearest, ties to even, in a 16-bit float format without its sign;
/// none if that is beyond the largest finite value.
///
/// The exponent is 0, or the significand below 2^53: so is whatever comes here.
#[inline]
fn round<const MANTISSA: i32, const BIAS: i32>(significand: u64, exponent: i32) -> Option<u16> {
    if significand == 0 {
        return Some(0);
    }
    // The binade of the result, not below that of the subnormals.
    let binade = (exponent + 63 - significand.leading_zeros() as i32).max(1 - BIAS);
    // How many low bits of the significand are below the last place of the result.
    let dropped = binade - MANTISSA - exponent;
    let kept = if dropped <= 0 {
        significand << -dropped
    } else {
        // With all of at most 53 bits dropped, 63 says the same as any larger number: less than half a last place.
        let dropped = dropped.min(63);
        let half = 1u64 << (dropped - 1);
        let rest = significand & (half << 1).wrapping_sub(1);
        let kept = significand >> dropped;
        kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
    };
    // A normal `kept` has its leading bit at the place of the exponent's last, and so has one that was rounded up to
    // the next binade: adding instead of masking counts it into the exponent in both cases.
    let bits = ((binade + BIAS - 1) as u64 * (1 << MANTISSA)) + kept;
    let infinity = (2 * BIAS as u64 + 1) << MANTISSA;
    (bits < infinity).then_some(bits as u16)
}

macro_rules! complexes {
    ($($part:ty),*) => {
        $(
            impl Source for Complex<$part> {
                #[inline(always)]
                fn number(self) -> Number {
                    Number::Complex(self.re.into(), self.im.into())
                }

                fn text(self) -> String {
                    self.to_string()
                }
            }

            impl Target for Complex<$part> {
                const ZERO: Complex<$part> = Complex::new(0.0, 0.0);

                #[inline(always)]
                fn from_number(number: Number) -> Option<Complex<$part>> {
                    let (re, im) = match number {
                        Number::Complex(re, im) => (Number::Float(re), Number::Float(im)),
                        real => (real, Number::Float(0.0)),
                    };
                    Some(Complex::new(<$part>::from_number(re)?, <$part>::from_number(im)?))
                }
            }
        )*
    };
}

complexes! { f32, f64 }
