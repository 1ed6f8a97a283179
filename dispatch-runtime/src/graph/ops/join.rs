//! Larger arrays from smaller ones: joined, repeated, padded.

use std::borrow::Borrow;

use super::super::axes;
use super::super::make::{aval, op, places};
use super::super::operand::{Arg, Operand};
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::elementwise::same_dtype;
use crate::aval::shape_text;
use crate::error::counted;

/// The values one behind the other along an axis.
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::graph::{Value, concatenate};
///
/// let (a, b) = (Value::zeros(DType::F32, [2, 3]), Value::ones(DType::F32, [2, 1]));
/// assert_eq!(concatenate(&[&a, &b], 1).shape(), [2, 4]);
/// ```
///
/// # Errors
///
/// There is no value, or no such axis; the values differ in dtype, or in the size of another axis.
#[track_caller]
pub fn concatenate<V: Borrow<Value>>(values: &[V], axis: i64) -> Value {
    let args: Vec<Arg<'_>> = values.iter().map(|value| Arg::Value(value.borrow())).collect();
    build("concatenate", &args, || {
        let (first, rest) = parted(values)?;
        if first.rank() == 0 {
            return Err("scalars have no axis; `stack` makes one".into());
        }
        let axis = axes::axis(axis, first.rank())?;
        let mut shape = first.shape().to_vec();
        for value in &rest {
            same_dtype(first, value)?;
            let mut other = value.shape().to_vec();
            let fits = other.len() == shape.len() && {
                other[axis] = first.shape()[axis];
                other == first.shape()
            };
            if !fits {
                let (a, b) = (shape_text(first.shape()), shape_text(value.shape()));
                return Err(format!("{a} and {b} differ in more than the size of axis {axis}"));
            }
            shape[axis] =
                shape[axis].checked_add(value.shape()[axis]).ok_or("the sizes add up to too much")?;
        }
        if rest.is_empty() {
            return Ok(first.clone());
        }
        let text = format!("stablehlo.concatenate {}, dim = {axis}", places(values.len()));
        let operands = values.iter().map(Borrow::borrow);
        Ok(op(text, Types::Function, operands, aval(first.dtype(), &shape)?))
    })
}

/// The values along a new axis, which is axis `axis` of the result: -1 is behind all others.
///
/// # Errors
///
/// There is no value; the values differ in dtype or shape; the result has no such axis.
#[track_caller]
pub fn stack<V: Borrow<Value>>(values: &[V], axis: i64) -> Value {
    let args: Vec<Arg<'_>> = values.iter().map(|value| Arg::Value(value.borrow())).collect();
    build("stack", &args, || {
        let (first, rest) = parted(values)?;
        for value in rest {
            same_dtype(first, value)?;
            if value.shape() != first.shape() {
                let (a, b) = (shape_text(first.shape()), shape_text(value.shape()));
                return Err(format!("{a} and {b} are different shapes"));
            }
        }
        let axis = axes::axis(axis, first.rank() + 1)? as i64;
        let parts: Vec<Value> = values.iter().map(|value| value.borrow().expand_dims(axis)).collect();
        Ok(concatenate(&parts, axis))
    })
}

/// The first value and the others.
fn parted<V: Borrow<Value>>(values: &[V]) -> Result<(&Value, Vec<&Value>), Reason> {
    let mut values = values.iter().map(Borrow::borrow);
    let first = values.next().ok_or("it takes one value at least")?;
    Ok((first, values.collect()))
}

impl Value {
    /// Puts `value` around the elements and between them: `low[i]` in front of axis `i`, `high[i]` behind it, and
    /// `interior[i]` between each two elements. A negative `low` or `high` takes as many away, after the padding between.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::ones(DType::F32, [2, 3]);
    /// assert_eq!(x.pad([1, 0], [0, -1], [0, 1], 0.0).shape(), [3, 4]);
    /// ```
    ///
    /// # Errors
    ///
    /// There are more or fewer paddings than axes; `interior` is negative; more is taken away than there is; `value` is no
    /// scalar of the same dtype.
    #[track_caller]
    pub fn pad(
        &self,
        low: impl AsRef<[i64]>,
        high: impl AsRef<[i64]>,
        interior: impl AsRef<[i64]>,
        value: impl Operand,
    ) -> Value {
        let (low, high, interior, value) = (low.as_ref(), high.as_ref(), interior.as_ref(), value.operand());
        build("pad", &[Arg::Value(self), value], || {
            for (name, amounts) in [("low", low), ("high", high), ("interior", interior)] {
                if amounts.len() != self.rank() {
                    let dimensions = counted(self.rank(), "dimension");
                    return Err(format!(
                        "{name} is {}, one for each of {dimensions} is needed",
                        shape_text(amounts)
                    ));
                }
            }
            let value = value.at(self.dtype(), &[])?;
            same_dtype(self, &value)?;
            if value.rank() > 0 {
                return Err(format!("the padding has to be a scalar, not {value:?}"));
            }
            let mut shape = Vec::with_capacity(self.rank());
            for (axis, &size) in self.shape().iter().enumerate() {
                let (low, high, between) = (low[axis], high[axis], interior[axis]);
                if between < 0 {
                    return Err(format!("interior padding of {between} on axis {axis} is negative"));
                }
                let padded = between.checked_mul((size - 1).max(0)).and_then(|n| n.checked_add(size));
                let padded = padded.and_then(|n| n.checked_add(low)?.checked_add(high));
                match padded {
                    Some(n) if n >= 0 => shape.push(n),
                    Some(n) => return Err(format!("axis {axis} of size {size} would get the size {n}")),
                    None => return Err(format!("the padding of axis {axis} is too large")),
                }
            }
            if [low, high, interior].iter().all(|amounts| amounts.iter().all(|&n| n == 0)) {
                return Ok(self.clone());
            }
            let [low, high, interior] = [low, high, interior].map(axes::list);
            let text = format!("stablehlo.pad $0, $1, low = {low}, high = {high}, interior = {interior}");
            Ok(op(text, Types::Function, [self, &value], aval(self.dtype(), &shape)?))
        })
    }

    /// The array repeated `reps[i]` times along axis `i`. Repetitions and shape are aligned at their ends, as numpy does
    /// it: what is missing on one side counts as 1.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::zeros(DType::F32, [2, 3]);
    /// assert_eq!(x.tile([2]).shape(), [2, 6]);
    /// assert_eq!(x.tile([4, 1, 2]).shape(), [4, 2, 6]);
    /// ```
    ///
    /// # Errors
    ///
    /// A number of repetitions is negative.
    #[track_caller]
    pub fn tile(&self, reps: impl AsRef<[i64]>) -> Value {
        build("tile", &[Arg::Value(self)], || {
            let reps = reps.as_ref();
            let rank = self.rank().max(reps.len());
            let aligned = |sizes: &[i64]| {
                let mut all = vec![1; rank - sizes.len()];
                all.extend_from_slice(sizes);
                all
            };
            let (sizes, reps) = (aligned(self.shape()), aligned(reps));
            let shape = sizes.iter().zip(&reps).map(|(&size, &n)| times(size, n));
            let shape = shape.collect::<Result<Vec<_>, _>>()?;
            let pairs: Vec<i64> = reps.iter().zip(&sizes).flat_map(|(&n, &size)| [n, size]).collect();
            let dims: Vec<usize> = (rank - self.rank()..rank).map(|axis| 2 * axis + 1).collect();
            self.spread(&dims, &pairs)?.reshape_to(&shape)
        })
    }

    /// The array with each element repeated `n` times along an axis.
    ///
    /// # Errors
    ///
    /// There is no such axis, or `n` is negative.
    #[track_caller]
    pub fn repeat(&self, n: i64, axis: i64) -> Value {
        build("repeat", &[Arg::Value(self)], || {
            let axis = axes::axis(axis, self.rank())?;
            let mut shape = self.shape().to_vec();
            shape[axis] = times(shape[axis], n)?;
            let mut pairs = self.shape().to_vec();
            pairs.insert(axis + 1, n);
            let dims: Vec<usize> = (0..=self.rank()).filter(|&dim| dim != axis + 1).collect();
            self.spread(&dims, &pairs)?.reshape_to(&shape)
        })
    }

    /// The array with its axes at these places of a larger shape, repeated along the other axes.
    #[track_caller]
    pub(in super::super) fn spread(&self, dims: &[usize], shape: &[i64]) -> Result<Value, Reason> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        let text = format!("stablehlo.broadcast_in_dim $0, dims = {}", axes::list(dims));
        Ok(op(text, Types::Function, [self], aval(self.dtype(), shape)?))
    }
}

fn times(size: i64, n: i64) -> Result<i64, Reason> {
    if n < 0 {
        return Err(format!("{n} is no number of repetitions"));
    }
    size.checked_mul(n).ok_or_else(|| format!("no axis has the size {size} * {n}"))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{assert_wrong, input, printed};
    use super::super::super::{Graph, Value, concatenate, stack};
    use crate::DType;

    #[test]
    fn what_does_not_fit_together_is_an_error() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 3]);
        let y = input(&graph, "y", DType::F32, &[2, 4]);
        let i = input(&graph, "i", DType::I32, &[2, 3]);
        let none: [&Value; 0] = [];
        let big = Value::zeros(DType::F32, [1 << 29, 1]).broadcast_to([1 << 29, 1 << 29]);
        assert_wrong([
            (concatenate(&none, 0), "concatenate(): it takes one value at least"),
            (
                concatenate(&[&x, &y], 0),
                "concatenate(x: f32[2,3], y: f32[2,4]): [2,3] and [2,4] differ in more than the size of axis 0",
            ),
            (
                concatenate(&[&x, &i], 0),
                "concatenate(x: f32[2,3], i: i32[2,3]): f32 and i32 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I32)`",
            ),
            (
                concatenate(&[Value::scalar(1)], 0),
                "concatenate(i32[]): scalars have no axis; `stack` makes one",
            ),
            (
                concatenate(&[&big, &big, &big], 0),
                "concatenate(f32[536870912,536870912], f32[536870912,536870912], f32[536870912,536870912]): no array of f32 has the shape [1610612736,536870912]",
            ),
            (stack(&[&x, &y], 0), "stack(x: f32[2,3], y: f32[2,4]): [2,3] and [2,4] are different shapes"),
            (stack(&[&x, &x], 3), "stack(x: f32[2,3], x: f32[2,3]): there is no axis 3 among 3 dimensions"),
            (x.tile([-1]), "tile(x: f32[2,3]): -1 is no number of repetitions"),
            (x.tile([i64::MAX]), "tile(x: f32[2,3]): no axis has the size 3 * 9223372036854775807"),
            (
                x.repeat(1 << 61, 0),
                "repeat(x: f32[2,3]): no array of f32 has the shape [2,2305843009213693952,3]",
            ),
        ]);
    }

    #[test]
    fn a_padding_that_does_not_fit_is_an_error() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::I8, &[2, 3]);
        let none = [0, 0];
        assert_wrong([
            (
                x.pad([1], none, none, 0),
                "pad(x: i8[2,3], 0): low is [1], one for each of 2 dimensions is needed",
            ),
            (
                x.pad(none, none, [0, -1], 0),
                "pad(x: i8[2,3], 0): interior padding of -1 on axis 1 is negative",
            ),
            (x.pad([-1, 0], [-2, 0], none, 0), "pad(x: i8[2,3], 0): axis 0 of size 2 would get the size -1"),
            (x.pad(none, none, [0, i64::MAX], 0), "pad(x: i8[2,3], 0): the padding of axis 1 is too large"),
            (x.pad(none, none, none, 300), "pad(x: i8[2,3], 300): 300 is no i8, which goes from -128 to 127"),
            (
                x.pad(none, none, none, &x),
                "pad(x: i8[2,3], x: i8[2,3]): the padding has to be a scalar, not x: i8[2,3]",
            ),
        ]);
        assert_eq!(printed(&graph, &x.pad(none, none, none, 0)), "");
        assert_eq!(
            printed(&graph, &x.pad([-1, 0], [2, 0], [0, 3], -1)),
            "%0 = stablehlo.constant dense<-1> : tensor<i8>\n\
             %1 = stablehlo.pad %x, %0, low = [-1, 0], high = [2, 0], interior = [0, 3] : (tensor<2x3xi8>, tensor<i8>) -> tensor<3x9xi8>"
        );
    }
}
