//! Reductions: one number for all elements along some axes.

mod along;
#[cfg(test)]
pub(super) mod tests;

use super::super::axes::Axes;
use super::super::constant::one;
use super::super::make::{Extra, op_many};
use super::super::operand::{Arg, Operand, Scalar};
use super::super::poison::{Reason, build, first};
use super::super::region::closed_block;
use super::super::value::Value;
use super::elementwise::{Takes, part, same_dtype};
use crate::DType;
pub(super) use along::{Along, wide};

/// A reduction of a dtype that it takes.
#[track_caller]
fn reduction(
    name: &'static str,
    takes: Takes,
    value: &Value,
    axes: impl Axes,
    make: impl FnOnce(&Along) -> Result<Value, Reason>,
) -> Value {
    build(name, &[Arg::Value(value)], || {
        takes.check(value.dtype())?;
        let along = Along::new(value, &axes)?;
        along.finish(make(&along)?)
    })
}

impl Value {
    /// The sum along some axes; 0 of nothing. Integers wrap around in their own dtype; `f16` and `bf16` are added up in
    /// `f32`.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{Value, keep};
    ///
    /// let x = Value::ones(DType::F32, [2, 3]);
    /// assert_eq!(x.sum(0).shape(), [3]);
    /// assert_eq!((&x / x.sum(keep(-1))).shape(), [2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// A `bool`; an axis that is not there, or twice.
    #[track_caller]
    pub fn sum(&self, axes: impl Axes) -> Value {
        reduction("sum", Takes::NUMBERS, self, axes, |along| {
            Ok(along.sum(&wide(self))?.convert(self.dtype()))
        })
    }

    /// The product along some axes; 1 of nothing. Integers wrap around in their own dtype; `f16` and `bf16` are
    /// multiplied in `f32`.
    ///
    /// # Errors
    ///
    /// As [`Value::sum`].
    #[track_caller]
    pub fn prod(&self, axes: impl Axes) -> Value {
        reduction("prod", Takes::NUMBERS, self, axes, |along| {
            Ok(along.reduce(&wide(self), "multiply", one(self.dtype()))?.convert(self.dtype()))
        })
    }

    /// The least element along some axes; NaN if there is one. Of nothing: infinity, the greatest integer, `true`.
    ///
    /// # Errors
    ///
    /// Complex numbers, which have no order; an axis that is not there, or twice.
    #[track_caller]
    pub fn min(&self, axes: impl Axes) -> Value {
        reduction("min", Takes::ORDERED, self, axes, |along| along.min(self))
    }

    /// The greatest element along some axes; NaN if there is one. Of nothing: minus infinity, the least integer,
    /// `false`.
    ///
    /// # Errors
    ///
    /// As [`Value::min`].
    #[track_caller]
    pub fn max(&self, axes: impl Axes) -> Value {
        reduction("max", Takes::ORDERED, self, axes, |along| along.max(self))
    }

    /// Whether all elements along some axes are true; `true` of nothing.
    ///
    /// # Errors
    ///
    /// Not a `bool`: compare first, as in `x.ne(0).all(..)`; an axis that is not there, or twice.
    #[track_caller]
    pub fn all(&self, axes: impl Axes) -> Value {
        reduction("all", Takes::BOOLS, self, axes, |along| along.reduce(self, "and", Scalar::Bool(true)))
    }

    /// Whether any element along some axes is true; `false` of nothing.
    ///
    /// # Errors
    ///
    /// As [`Value::all`].
    #[track_caller]
    pub fn any(&self, axes: impl Axes) -> Value {
        reduction("any", Takes::BOOLS, self, axes, |along| along.reduce(self, "or", Scalar::Bool(false)))
    }

    /// How many elements along some axes are not 0 (for `bool`: are true), as `i64`. NaN is not 0.
    ///
    /// # Errors
    ///
    /// An axis that is not there, or twice.
    #[track_caller]
    pub fn count_nonzero(&self, axes: impl Axes) -> Value {
        build("count_nonzero", &[Arg::Value(self)], || {
            let hits = if self.dtype() == DType::Bool { self.clone() } else { self.ne(0) };
            Ok(hits.convert(DType::I64).sum(axes))
        })
    }

    /// The mean along some axes; NaN of nothing. `f16` and `bf16` are added up in `f32`.
    ///
    /// # Errors
    ///
    /// Integers: `convert` them first; an axis that is not there, or twice.
    #[track_caller]
    pub fn mean(&self, axes: impl Axes) -> Value {
        reduction("mean", Takes::ANALYTIC, self, axes, |along| {
            Ok(along.mean(&wide(self))?.convert(self.dtype()))
        })
    }

    /// The variance along some axes: the sum of squared distances from the mean, divided by `n - ddof`. 0 as `ddof` gives
    /// that of a population, 1 that of a sample; where `n - ddof` is not positive it is NaN.
    ///
    /// Of complex numbers: a float, from the squared modulus of the distances. `f16` and `bf16` are added up in `f32`.
    ///
    /// # Errors
    ///
    /// As [`Value::mean`].
    #[track_caller]
    pub fn var(&self, axes: impl Axes, ddof: i64) -> Value {
        reduction("var", Takes::ANALYTIC, self, axes, |along| {
            Ok(along.var(&wide(self), ddof)?.convert(part(self.dtype()).unwrap_or(self.dtype())))
        })
    }

    /// The standard deviation along some axes, the square root of [`Value::var`].
    ///
    /// # Errors
    ///
    /// As [`Value::mean`].
    #[track_caller]
    pub fn std(&self, axes: impl Axes, ddof: i64) -> Value {
        reduction("std", Takes::ANALYTIC, self, axes, |along| {
            Ok(along.var(&wide(self), ddof)?.sqrt().convert(part(self.dtype()).unwrap_or(self.dtype())))
        })
    }

    /// The logarithm of the sum of exponentials along some axes, for which no exponential overflows. Minus infinity of
    /// nothing and of minus infinities alone, infinity if there is one, NaN if there is one.
    ///
    /// # Errors
    ///
    /// Not a float; an axis that is not there, or twice.
    #[track_caller]
    pub fn logsumexp(&self, axes: impl Axes) -> Value {
        reduction("logsumexp", Takes::FLOATS, self, axes, |along| {
            Ok(along.logsumexp(&wide(self))?.convert(self.dtype()))
        })
    }

    /// Where the least element along an axis stands, as `i32`: the first one if there are several, the first NaN if
    /// there is one.
    ///
    /// # Errors
    ///
    /// Complex numbers, which have no order; an axis that is not there, has no elements, or too many for an `i32`.
    #[track_caller]
    pub fn argmin(&self, axis: impl Axes) -> Value {
        reduction("argmin", Takes::ORDERED, self, axis, |along| {
            along.only()?;
            along.first_equal(self, &along.min(self)?)
        })
    }

    /// Where the greatest element along an axis stands, as `i32`: the first one if there are several, the first NaN if
    /// there is one.
    ///
    /// # Errors
    ///
    /// As [`Value::argmin`].
    #[track_caller]
    pub fn argmax(&self, axis: impl Axes) -> Value {
        reduction("argmax", Takes::ORDERED, self, axis, |along| {
            along.only()?;
            along.first_equal(self, &along.max(self)?)
        })
    }

    /// Reduces along some axes by a closure, which makes one scalar of two: `x.reduce(0, .., |a, b| a.maximum(b))`.
    ///
    /// In which order the elements are combined is open, and `init` may be combined with them any number of times: the
    /// closure has to be associative and `init` neutral. The closure may use its arguments and constants alone. Of nothing
    /// the result is `init`.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::iota(DType::I32, [2, 3], 0);
    /// let bits = x.reduce(0, -1, |a, b| a ^ b);
    /// assert_eq!((bits.dtype(), bits.shape()), (DType::I32, &[2][..]));
    /// ```
    ///
    /// # Errors
    ///
    /// `init` is no scalar of the dtype, or the closure gives none; the closure uses a value from outside; an axis that is
    /// not there, or twice.
    #[track_caller]
    pub fn reduce(
        &self,
        init: impl Operand,
        axes: impl Axes,
        combine: impl FnOnce(Value, Value) -> Value,
    ) -> Value {
        let init = init.operand();
        build("reduce", &[Arg::Value(self), init], || {
            let along = Along::new(self, &axes)?;
            let init = init.at(self.dtype(), &[])?;
            same_dtype(self, &init)?;
            if init.rank() > 0 {
                return Err(format!("it starts from a scalar, not from {init:?}"));
            }
            let scalar = init.aval().clone();
            let block = closed_block(&[scalar.clone(), scalar.clone()], |values| {
                let [a, b] = <[Value; 2]>::try_from(values).expect("a block has as many values as types");
                vec![combine(a, b)]
            });
            if let Some(wrong) = first(&block.results) {
                return Ok(wrong.clone());
            }
            block.check_closed(&[scalar])?;
            if along.axes.is_empty() {
                return Ok(self.clone());
            }
            let dimensions: Vec<String> = along.axes.iter().map(usize::to_string).collect();
            let text = format!(
                "\"stablehlo.reduce\"($0, $1) <{{dimensions = array<i64: {}>}}> ($r0)",
                dimensions.join(", ")
            );
            let extra = Extra { blocks: vec![block], ..Extra::default() };
            let mut results = op_many(text, &[self.clone(), init], [along.result(self.dtype())?], extra)?;
            along.finish(results.remove(0))
        })
    }
}
