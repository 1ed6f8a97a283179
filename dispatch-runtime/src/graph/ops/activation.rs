//! Functions of models: activations, normalised exponentials.

use super::super::axes::Axes;
use super::super::operand::Arg;
use super::super::operand::Operand;
use super::super::poison::{Reason, build};
use super::super::value::Value;
use super::elementwise::{Takes, pair};
use super::reduce::{Along, wide};

impl Value {
    /// The number, or 0 if it is negative; NaN of NaN.
    #[track_caller]
    pub fn relu(&self) -> Value {
        build("relu", &[Arg::Value(self)], || {
            Takes::REALS.check(self.dtype())?;
            Ok(self.maximum(0))
        })
    }

    /// The number, or `slope` times the number if it is negative.
    ///
    /// # Errors
    ///
    /// Not a float; a slope that is no scalar of the dtype.
    #[track_caller]
    pub fn leaky_relu(&self, slope: impl Operand) -> Value {
        let slope = slope.operand();
        build("leaky_relu", &[Arg::Value(self), slope], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(self.ge(0).select(self, self.mul(slope)))
        })
    }

    /// The number, or `exp(x) - 1` if it is negative.
    #[track_caller]
    pub fn elu(&self) -> Value {
        build("elu", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(self.gt(0).select(self, self.expm1()))
        })
    }

    /// The logistic function, `1 / (1 + exp(-x))`: another name of [`Value::logistic`].
    #[track_caller]
    pub fn sigmoid(&self) -> Value {
        build("sigmoid", &[Arg::Value(self)], || {
            Takes::ANALYTIC.check(self.dtype())?;
            Ok(self.logistic())
        })
    }

    /// `log(1 + exp(x))`, a smooth [`Value::relu`]. No exponential overflows.
    #[track_caller]
    pub fn softplus(&self) -> Value {
        build("softplus", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            // Of NaN the maximum is NaN.
            Ok(self.maximum(0).add(self.abs().neg().exp().log1p()))
        })
    }

    /// `x * logistic(x)`, also called swish. Of minus infinity it is NaN, as `-inf * 0` is.
    #[track_caller]
    pub fn silu(&self) -> Value {
        build("silu", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(self.mul(self.logistic()))
        })
    }

    /// `x * Φ(x)` with the distribution function of the normal distribution, exact (by [`Value::erfc`]). Of minus infinity
    /// it is NaN, as `-inf * 0` is.
    #[track_caller]
    pub fn gelu(&self) -> Value {
        build("gelu", &[Arg::Value(self)], || {
            Takes::FLOATS.check(self.dtype())?;
            Ok(self.mul(0.5).mul(self.mul(-std::f64::consts::FRAC_1_SQRT_2).erfc()))
        })
    }

    /// `log(exp(x) + exp(y))`. No exponential overflows.
    ///
    /// # Errors
    ///
    /// Not floats of one dtype; shapes that do not broadcast.
    #[track_caller]
    pub fn logaddexp(&self, other: impl Operand) -> Value {
        let other = other.operand();
        build("logaddexp", &[Arg::Value(self), other], || {
            let (x, y) = pair(Arg::Value(self), other)?;
            Takes::FLOATS.check(x.dtype())?;
            // Equal infinities have no difference; NaN is in the sum.
            let (difference, max) = (x.sub(&y), x.maximum(&y));
            let sum = max.add(difference.abs().neg().exp().log1p());
            Ok(difference.is_nan().select(x.add(&y), sum))
        })
    }

    /// Exponentials divided by their sum along some axes: positive numbers with the sum 1. No exponential overflows. Where
    /// one element is infinity, NaN, or all are minus infinity, the result is NaN along the axes.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::iota(DType::F32, [2, 3], 1);
    /// assert_eq!(x.softmax(-1).shape(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// Not a float; an axis that is not there, or twice.
    #[track_caller]
    pub fn softmax(&self, axes: impl Axes) -> Value {
        normalised("softmax", self, axes, |along, x| {
            let exp = x.exp();
            Ok(exp.div(along.spread(&along.sum(&exp)?)?))
        })
    }

    /// The logarithm of [`Value::softmax`], exact also where that is near 0: the element minus [`Value::logsumexp`].
    ///
    /// # Errors
    ///
    /// Not a float; an axis that is not there, or twice.
    #[track_caller]
    pub fn log_softmax(&self, axes: impl Axes) -> Value {
        normalised(
            "log_softmax",
            self,
            axes,
            |along, x| Ok(x.sub(along.spread(&along.sum(&x.exp())?.log())?)),
        )
    }
}

/// Makes something of elements that are shifted so that the greatest one along the axes is 0.
#[track_caller]
fn normalised(
    name: &'static str,
    value: &Value,
    axes: impl Axes,
    make: impl FnOnce(&Along, &Value) -> Result<Value, Reason>,
) -> Value {
    build(name, &[Arg::Value(value)], || {
        Takes::FLOATS.check(value.dtype())?;
        let along = Along::new(value, &axes)?;
        let x = wide(value);
        let shifted = x.sub(along.spread(&along.max(&x)?)?);
        Ok(make(&along, &shifted)?.convert(value.dtype()))
    })
}
