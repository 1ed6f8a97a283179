//! What reductions are made of: the axes, and the operations along them.

use super::super::super::axes::{self, Axes};
use super::super::super::constant::{extreme, splat, zero};
use super::super::super::make::{aval, op};
use super::super::super::operand::Scalar;
use super::super::super::poison::Reason;
use super::super::super::value::{Types, Value};
use super::super::elementwise::part;
use crate::{Aval, DType};

/// The axes of a reduction of one shape.
pub struct Along {
    /// In order.
    pub axes: Vec<usize>,
    shape: Vec<i64>,
    keeps: bool,
}

impl Along {
    pub fn new(value: &Value, axes: &impl Axes) -> Result<Along, Reason> {
        let mut list = axes.list(value.rank())?;
        list.sort_unstable();
        Ok(Along { axes: list, shape: value.shape().to_vec(), keeps: axes.keeps() })
    }

    /// An error unless there is one axis.
    pub fn only(&self) -> Result<(), Reason> {
        match self.axes.len() {
            1 => Ok(()),
            n => Err(format!("it takes one axis, not {n}")),
        }
    }

    /// How many elements are reduced to one.
    pub fn count(&self) -> i64 {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// The axes that stay.
    fn others(&self) -> Vec<usize> {
        (0..self.shape.len()).filter(|axis| !self.axes.contains(axis)).collect()
    }

    /// Reduces by an operation of StableHLO, to a shape without the axes.
    pub fn reduce(&self, value: &Value, operation: &str, init: Scalar) -> Result<Value, Reason> {
        if self.axes.is_empty() {
            return Ok(value.clone());
        }
        let init = splat(init, value.dtype(), &[])?;
        let text = format!(
            "stablehlo.reduce($0 init: $1) applies stablehlo.{operation} across dimensions = {}",
            axes::list(&self.axes)
        );
        Ok(op(text, Types::Function, [value, &init], self.result(value.dtype())?))
    }

    /// What a reduction gives, without the axes.
    pub fn result(&self, dtype: DType) -> Result<Aval, Reason> {
        let shape: Vec<i64> = self.others().into_iter().map(|axis| self.shape[axis]).collect();
        aval(dtype, &shape)
    }

    pub fn sum(&self, value: &Value) -> Result<Value, Reason> {
        self.reduce(value, "add", zero(value.dtype()))
    }

    pub fn max(&self, value: &Value) -> Result<Value, Reason> {
        let init = extreme(value.dtype(), false).expect("a dtype with an order has a least value");
        self.reduce(value, "maximum", init)
    }

    pub fn min(&self, value: &Value) -> Result<Value, Reason> {
        let init = extreme(value.dtype(), true).expect("a dtype with an order has a greatest value");
        self.reduce(value, "minimum", init)
    }

    pub fn mean(&self, value: &Value) -> Result<Value, Reason> {
        Ok(self.sum(value)?.div(self.count() as f64))
    }

    /// The variance, in two passes: the squares of large numbers would cancel.
    pub fn var(&self, value: &Value, ddof: i64) -> Result<Value, Reason> {
        let distance = value.sub(self.spread(&self.mean(value)?)?);
        let square = match part(value.dtype()) {
            Some(_) => distance.real().square().add(distance.imag().square()),
            None => distance.square(),
        };
        let n = self.count().saturating_sub(ddof);
        Ok(self.sum(&square)?.div(if n > 0 { n as f64 } else { f64::NAN }))
    }

    /// The logarithm of the sum of exponentials, shifted by the greatest one.
    pub fn logsumexp(&self, value: &Value) -> Result<Value, Reason> {
        let max = self.max(value)?;
        // An infinity as the shift would give `inf - inf`.
        let shift = max.is_finite().select(&max, 0.0);
        let sum = self.sum(&value.sub(self.spread(&shift)?).exp())?;
        Ok(sum.log().add(&shift))
    }

    /// The first place along the one axis that holds this extreme element; NaN, if it is one.
    pub fn first_equal(&self, value: &Value, extreme: &Value) -> Result<Value, Reason> {
        let [axis] = self.axes[..] else { unreachable!("the place is one along one axis") };
        let n = self.shape[axis];
        if n == 0 {
            return Err(format!("axis {axis} has no elements"));
        }
        if n > i64::from(i32::MAX) {
            return Err(format!("axis {axis} has {n} elements, too many for an i32"));
        }
        let mut hit = value.eq(self.spread(extreme)?);
        if value.dtype().is_float() {
            hit = hit.or(value.is_nan());
        }
        let places = Value::iota(DType::I32, &self.shape, axis as i64);
        self.min(&hit.select(&places, i32::MAX))
    }

    /// Repeats a result to the shape before the reduction.
    pub fn spread(&self, result: &Value) -> Result<Value, Reason> {
        result.spread(&self.others(), &self.shape)
    }

    /// A result with the axes that are to be kept.
    pub fn finish(&self, result: Value) -> Result<Value, Reason> {
        if !self.keeps || self.axes.is_empty() {
            return Ok(result);
        }
        let size = |(axis, &n): (usize, &i64)| if self.axes.contains(&axis) { 1 } else { n };
        let shape: Vec<i64> = self.shape.iter().enumerate().map(size).collect();
        result.reshape_to(&shape)
    }
}

/// The value at the dtype in which it is added up: `f32` for the short floats, whose sums would stand still at 256 or
/// 2048.
pub fn wide(value: &Value) -> Value {
    match value.dtype() {
        DType::F16 | DType::BF16 => value.convert(DType::F32),
        _ => value.clone(),
    }
}
