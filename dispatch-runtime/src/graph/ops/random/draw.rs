//! What is drawn with a key.

use super::super::super::constant::{extreme, splat};
use super::super::super::make::aval;
use super::super::super::operand::{Arg, Operand, Scalar};
use super::super::super::poison::{Reason, build};
use super::super::super::value::Value;
use super::super::elementwise::{Takes, same_dtype};
use super::super::join::stack;
use super::Key;
use super::bits::{below, scaled_32, scaled_64, unsigned};
use crate::DType;

impl Key {
    /// Random bits: every value of an integer dtype is as probable.
    ///
    /// # Errors
    ///
    /// The dtype is no integer, or no array has the shape.
    #[track_caller]
    pub fn bits(&self, dtype: DType, shape: impl AsRef<[i64]>) -> Value {
        build("bits", &[Arg::Value(&self.0)], || {
            Takes::INTS.check(dtype)?;
            let n = count(dtype, shape.as_ref())?;
            self.random(unsigned(dtype), n)?.bitcast_convert(dtype).reshape_to(shape.as_ref())
        })
    }

    /// Numbers between `low` and `high`, each as probable as another: `low` comes up, `high` never does.
    ///
    /// Integers: as probable up to one part in 2^32 or less; a Rust number `high` may be one more than the dtype's
    /// greatest. Floats: `low + (high - low) * u` without overflow, rounded, where `u` is one of the 2^24 multiples of
    /// 2^-24 from 0 to 1 (of `f64` 2^53, of `f16` 2^11, of `bf16` 2^8); what would round to `high` is the number below.
    ///
    /// The bounds are numbers, or values that broadcast to the shape. Of values, `low` has to be less than `high`, and of
    /// floats both finite: the numbers are arbitrary otherwise.
    ///
    /// ```
    /// use dispatch_runtime::graph::{Graph, Key};
    /// use dispatch_runtime::prelude::*;
    ///
    /// let (a, b) = Key::seed(7).split();
    /// let dice = a.uniform(DType::U8, [1000], 1, 7);
    /// let angles = b.uniform(DType::F32, [2, 3], -180.0, 180.0);
    /// let client = Client::cpu()?;
    /// let results = client.compile(Graph::new().program((dice, angles))?)?.execute(&[])?;
    /// assert!(results[0].to_vec::<u8>()?.iter().all(|n| (1..7).contains(n)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The dtype is neither an integer nor a float, a bound does not fit it or the shape, or the number `low` is not less
    /// than the number `high`.
    #[track_caller]
    pub fn uniform(
        &self,
        dtype: DType,
        shape: impl AsRef<[i64]>,
        low: impl Operand,
        high: impl Operand,
    ) -> Value {
        let (low, high) = (low.operand(), high.operand());
        build("uniform", &[Arg::Value(&self.0), low, high], || {
            Takes::REALS.check(dtype)?;
            let shape = shape.as_ref();
            let n = count(dtype, shape)?;
            if dtype.is_int() {
                self.ints(dtype, shape, n, low, high)
            } else {
                self.floats(dtype, shape, n, low, high)
            }
        })
    }

    /// Numbers of the normal distribution with mean 0 and variance 1, by the Box-Muller transform.
    ///
    /// They reach to 6.7 on either side, those of `f64` to 9.4. `f16` and `bf16` are rounded from `f32`. The real and the
    /// imaginary part of a complex number are independent, each with variance 1/2.
    ///
    /// # Errors
    ///
    /// The dtype is neither a float nor complex, or no array has the shape.
    #[track_caller]
    pub fn normal(&self, dtype: DType, shape: impl AsRef<[i64]>) -> Value {
        build("normal", &[Arg::Value(&self.0)], || {
            Takes::ANALYTIC.check(dtype)?;
            let shape = shape.as_ref();
            let n = count(dtype, shape)?;
            let part = match dtype {
                DType::F64 | DType::C128 => DType::F64,
                _ => DType::F32,
            };
            // Two random numbers give two: a radius and an angle, x and y.
            let pairs = if dtype.is_complex() { n } else { n / 2 + n % 2 };
            let random = self.pairs(unsigned(part), pairs)?;
            let [radius, angle] = random;
            let radius = (open(&radius, part).log() * -2.0).sqrt();
            let angle = unit(&angle, part) * std::f64::consts::TAU;
            let (x, y) = (&radius * angle.cos(), &radius * angle.sin());
            if dtype.is_complex() {
                let half = std::f64::consts::FRAC_1_SQRT_2;
                return (x * half).complex(y * half).reshape_to(shape);
            }
            let both = stack(&[x, y], 1).reshape_to(&[2 * pairs])?;
            both.slice_axis(0, 0, n).convert(dtype).reshape_to(shape)
        })
    }

    /// Numbers of the exponential distribution with mean 1.
    ///
    /// They reach to 22.8, those of `f64` to 45. `f16` and `bf16` are rounded from `f32`.
    ///
    /// # Errors
    ///
    /// The dtype is no float, or no array has the shape.
    #[track_caller]
    pub fn exponential(&self, dtype: DType, shape: impl AsRef<[i64]>) -> Value {
        build("exponential", &[Arg::Value(&self.0)], || {
            Takes::FLOATS.check(dtype)?;
            let n = count(dtype, shape.as_ref())?;
            let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let random = self.random(unsigned(wide), n)?;
            // The greatest number is log(1), which is a negative zero.
            open(&random, wide).log().abs().convert(dtype).reshape_to(shape.as_ref())
        })
    }

    /// `true` with this probability: a number from 0 to 1, or floats that broadcast to the shape.
    ///
    /// 0 and less never give `true`, 1 and more always. A Rust number is rounded to `f32`.
    ///
    /// # Errors
    ///
    /// The number is not between 0 and 1, or the probabilities are no floats or do not broadcast to the shape.
    #[track_caller]
    pub fn bernoulli(&self, p: impl Operand, shape: impl AsRef<[i64]>) -> Value {
        let p = p.operand();
        build("bernoulli", &[Arg::Value(&self.0), p], || {
            let shape = shape.as_ref();
            let dtype = p.value().map_or(DType::F32, Value::dtype);
            Takes::FLOATS.check(dtype)?;
            if let Arg::Scalar(p) = p {
                if !float(p).is_some_and(|p| (0.0..=1.0).contains(&p)) {
                    return Err(format!("a probability is between 0 and 1, {p} is not"));
                }
            }
            let n = count(dtype, shape)?;
            let p = p.at(dtype, &[])?.broadcast_to_shape(shape)?;
            let random = self.random(unsigned(dtype), n)?;
            Ok(unit(&random, dtype).reshape_to(shape)?.lt(p))
        })
    }

    /// The numbers from 0 to `n`, without `n`, in random order: `i32`, for [`take`](Value::take). Each order is as
    /// probable as another.
    ///
    /// # Errors
    ///
    /// `n` is negative, or more than an `i32` counts.
    #[track_caller]
    pub fn permutation(&self, n: i64) -> Value {
        build("permutation", &[Arg::Value(&self.0)], || {
            if !(0..=i64::from(i32::MAX)).contains(&n) {
                return Err(format!("there is no order of {n} numbers"));
            }
            // Two of the 64-bit numbers are equal once in 2^64 / n^2 times.
            Ok(self.random(DType::U64, n)?.argsort(0))
        })
    }

    /// Twice `n` random numbers: those at even places, and those at odd ones.
    #[track_caller]
    fn pairs(&self, dtype: DType, n: i64) -> Result<[Value; 2], Reason> {
        let twice = n.checked_mul(2).ok_or_else(|| format!("no array has 2 * {n} elements"))?;
        let pairs = self.random(dtype, twice)?.reshape_to(&[n, 2])?;
        let column = |i| pairs.slice_axis(1, i, i + 1).reshape_to(&[n]);
        Ok([column(0)?, column(1)?])
    }

    #[track_caller]
    fn ints(
        &self,
        dtype: DType,
        shape: &[i64],
        n: i64,
        low: Arg<'_>,
        high: Arg<'_>,
    ) -> Result<Value, Reason> {
        let (low, span) = match (low, high) {
            (Arg::Scalar(Scalar::Int(low)), Arg::Scalar(Scalar::Int(high))) => {
                let greatest = extreme(dtype, true).expect("integers have an order");
                let low_value = splat(Scalar::Int(low), dtype, &[])?;
                if Scalar::Int(high - 1) != greatest {
                    let _fits = splat(Scalar::Int(high), dtype, &[])?;
                }
                if low >= high {
                    return Err(format!("there is no integer from {low} to {high}, without {high}"));
                }
                match u64::try_from(high - low) {
                    Ok(span) => (low_value, Value::scalar(span)),
                    // All of the 2^64 integers.
                    Err(_) => {
                        return self.random(unsigned(dtype), n)?.bitcast_convert(dtype).reshape_to(shape);
                    }
                }
            }
            (low, high) => {
                let [low, high] = [bound(low, dtype, shape)?, bound(high, dtype, shape)?];
                let span = (high - &low).bitcast_convert(unsigned(dtype)).convert(DType::U64);
                (low, span)
            }
        };
        let offset = if dtype.size() < 8 {
            scaled_32(&self.random(DType::U64, n)?.reshape_to(shape)?, &span)
        } else {
            let [high, low] = self.pairs(DType::U64, n)?;
            scaled_64(&high.reshape_to(shape)?, &low.reshape_to(shape)?, &span)
        };
        Ok(low + offset.convert(unsigned(dtype)).bitcast_convert(dtype))
    }

    #[track_caller]
    fn floats(
        &self,
        dtype: DType,
        shape: &[i64],
        n: i64,
        low: Arg<'_>,
        high: Arg<'_>,
    ) -> Result<Value, Reason> {
        let [low_value, high_value] = [bound(low, dtype, shape)?, bound(high, dtype, shape)?];
        let u = unit(&self.random(unsigned(dtype), n)?, dtype).reshape_to(shape)?;
        if let (Arg::Scalar(low), Arg::Scalar(high)) = (low, high) {
            let [a, b] = [low, high].map(|x| float(x).map_or(f64::NAN, |x| rounded(x, dtype)));
            // NaN is less than nothing.
            if !(a < b && a.is_finite() && b.is_finite()) {
                return Err(format!("there is no {dtype} from {low} to {high}, without {high}"));
            }
            if (a, b) == (0.0, 1.0) {
                return Ok(u);
            }
        }
        // Not `low + (high - low) * u`, whose difference may overflow.
        let between = &low_value * (1.0 - &u) + &high_value * u;
        Ok(between.clamp(low_value, below(&high_value)))
    }
}

/// The number of elements of an array that there can be.
fn count(dtype: DType, shape: &[i64]) -> Result<i64, Reason> {
    Ok(aval(dtype, shape)?.len() as i64)
}

/// A bound at this dtype: a scalar, or an array of this shape.
#[track_caller]
fn bound(bound: Arg<'_>, dtype: DType, shape: &[i64]) -> Result<Value, Reason> {
    let value = bound.at(dtype, &[])?;
    if value.dtype() != dtype {
        same_dtype(&value, &Value::zeros(dtype, []))?;
    }
    if value.rank() == 0 { Ok(value) } else { value.broadcast_to_shape(shape) }
}

/// Random bits as multiples of a power of 1/2, from 0 to 1 without 1: as many as the float can tell apart below 1.
#[track_caller]
fn unit(random: &Value, dtype: DType) -> Value {
    let digits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        _ => 53,
    };
    let unused = 8 * dtype.size() as u64 - digits;
    random.shr_logical(unused).convert(dtype) * 0.5f64.powi(digits as i32)
}

/// Random bits as floats from 0 to 1 without 0, the denser the nearer they are to 0.
#[track_caller]
fn open(random: &Value, dtype: DType) -> Value {
    let width = 8 * dtype.size() as i32;
    (random.convert(dtype) + 0.5) * 0.5f64.powi(width)
}

fn float(scalar: Scalar) -> Option<f64> {
    match scalar {
        Scalar::Int(x) => Some(x as f64),
        Scalar::Float(x) => Some(x),
        _ => None,
    }
}

/// A number as the nearest one of a float dtype.
fn rounded(x: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_f64(x).to_f64(),
        DType::BF16 => half::bf16::from_f64(x).to_f64(),
        DType::F32 => f64::from(x as f32),
        _ => x,
    }
}
