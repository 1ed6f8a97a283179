//! Whether a result is the one that the oracle expects.

use dispatch_runtime::prelude::*;
use dispatch_tests::with_element;
use half::{bf16, f16};
use num_complex::Complex;

/// How far from the expected one a float may be. Integers and booleans are always exact, NaN is only NaN, and an
/// infinity only itself.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// The same bits.
    Exact,
    /// As many steps between neighbouring floats of the dtype. Numbers below the normal ones are all alike: XLA takes
    /// and gives zeros for them. `signed` says whether the sign of a zero counts.
    Ulps { ulps: u64, signed: bool },
    /// This part of the expected modulus, for complex numbers.
    Relative(f64),
    /// This part of the largest expected element, for sums of many terms, which cancel.
    Scaled(f64),
}

/// What differs, if something does.
pub fn difference(got: &HostArray, expected: &HostArray, tolerance: Tolerance) -> Option<String> {
    if got.aval() != expected.aval() {
        return Some(format!("{:?} instead of {:?}", got.aval(), expected.aval()));
    }
    with_element!(got.dtype(), T => {
        let (got, expected) = (got.as_slice::<T>().unwrap(), expected.as_slice::<T>().unwrap());
        let scale = expected.iter().map(|x| x.size()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        let mut wrong = got.iter().zip(expected).enumerate();
        let wrong = wrong.find(|(_, (got, expected))| !got.is_near(**expected, tolerance, scale));
        wrong.map(|(i, (got, expected))| {
            let off = got.ulps(*expected);
            format!("element {i} is {got:?} instead of {expected:?}, {off} ulps and {:.2e} off", got.off(*expected) / scale)
        })
    })
}

trait Near: Copy {
    fn is_near(self, expected: Self, tolerance: Tolerance, scale: f64) -> bool;
    /// The modulus.
    fn size(self) -> f64;
    fn ulps(self, other: Self) -> u64;
    /// The distance.
    fn off(self, other: Self) -> f64;
}

macro_rules! exact {
    ($($rust:ty)*) => {
        $(impl Near for $rust {
            fn is_near(self, expected: $rust, _: Tolerance, _: f64) -> bool {
                self == expected
            }

            fn size(self) -> f64 {
                0.0
            }

            fn ulps(self, _: $rust) -> u64 {
                0
            }

            fn off(self, _: $rust) -> f64 {
                0.0
            }
        })*
    };
}

exact! { bool i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($rust:ident)*) => {
        $(impl Near for $rust {
            fn is_near(self, expected: $rust, tolerance: Tolerance, scale: f64) -> bool {
                let (x, y) = (f64::from(self), f64::from(expected));
                let least = f64::from($rust::MIN_POSITIVE);
                match tolerance {
                    _ if y.is_nan() => x.is_nan(),
                    Tolerance::Exact => self.to_bits() == expected.to_bits(),
                    _ if x.is_nan() => false,
                    Tolerance::Ulps { signed, .. } if x.abs() <= least && y.abs() <= least => {
                        !signed || x.is_sign_negative() == y.is_sign_negative()
                    }
                    Tolerance::Ulps { ulps, .. } => x.is_finite() == y.is_finite() && self.ulps(expected) <= ulps,
                    _ if !y.is_finite() => x == y,
                    Tolerance::Relative(part) => (x - y).abs() <= part * y.abs(),
                    Tolerance::Scaled(part) => (x - y).abs() <= part * scale,
                }
            }

            fn size(self) -> f64 {
                f64::from(self).abs()
            }

            fn ulps(self, other: $rust) -> u64 {
                // Floats of one sign are ordered as their bits are.
                let place = |x: $rust| {
                    let bits = x.to_bits() as u64;
                    let sign = 1u64 << (8 * size_of::<$rust>() - 1);
                    if bits & sign == 0 { bits as i64 } else { -((bits ^ sign) as i64) }
                };
                place(self).abs_diff(place(other))
            }

            fn off(self, other: $rust) -> f64 {
                (f64::from(self) - f64::from(other)).abs()
            }
        }

        impl Near for Complex<$rust> {
            fn is_near(self, expected: Complex<$rust>, tolerance: Tolerance, scale: f64) -> bool {
                let finite = expected.size().is_finite();
                match tolerance {
                    Tolerance::Relative(part) if finite => self.off(expected) <= part * expected.size(),
                    Tolerance::Scaled(part) if finite => self.off(expected) <= part * scale,
                    _ => {
                        self.re.is_near(expected.re, tolerance, scale)
                            && self.im.is_near(expected.im, tolerance, scale)
                    }
                }
            }

            fn size(self) -> f64 {
                f64::from(self.re).hypot(f64::from(self.im))
            }

            fn ulps(self, other: Complex<$rust>) -> u64 {
                self.re.ulps(other.re).max(self.im.ulps(other.im))
            }

            fn off(self, other: Complex<$rust>) -> f64 {
                self.re.off(other.re).hypot(self.im.off(other.im))
            }
        })*
    };
}

floats! { f16 bf16 f32 f64 }
