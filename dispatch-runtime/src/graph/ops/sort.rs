//! Sorting.

use super::super::axes;
use super::super::make::{Extra, aval, op_many, places};
use super::super::operand::Arg;
use super::super::poison::{Reason, build, build_many};
use super::super::region::closed_block;
use super::super::value::Value;
use super::elementwise::Takes;
use crate::aval::shape_text;
use crate::{Aval, DType};

impl Value {
    /// The elements along an axis in rising order. NaN is behind infinity, and -0 equals 0.
    ///
    /// # Errors
    ///
    /// Complex numbers, which have no order; an axis that is not there.
    #[track_caller]
    pub fn sort(&self, axis: i64) -> Value {
        build("sort", &[Arg::Value(self)], || only(sorted(self, &[], axis, Order::Rising)))
    }

    /// The elements along an axis in falling order. NaN comes first.
    ///
    /// # Errors
    ///
    /// As [`Value::sort`].
    #[track_caller]
    pub fn sort_descending(&self, axis: i64) -> Value {
        build("sort_descending", &[Arg::Value(self)], || only(sorted(self, &[], axis, Order::Falling)))
    }

    /// The places of the elements along an axis in rising order, as `i32`: what [`Value::take_along`] takes to sort. Equal
    /// elements stay in order, NaN is behind infinity, and -0 equals 0.
    ///
    /// ```
    /// use dispatch_runtime::graph::Graph;
    /// use dispatch_runtime::prelude::*;
    ///
    /// let graph = Graph::new();
    /// let x = graph.input("x", &Aval::new(DType::F32, [3]));
    /// let client = Client::cpu()?;
    /// let executable = client.compile(graph.program(x.argsort(0))?)?;
    /// let x = client.array(&[3f32, 1.0, 2.0], [3])?;
    /// assert_eq!(executable.execute(&[&x])?[0].to_vec::<i32>()?, [1, 2, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Value::sort`]; an axis with more elements than an `i32` counts.
    #[track_caller]
    pub fn argsort(&self, axis: i64) -> Value {
        build("argsort", &[Arg::Value(self)], || {
            only(sorted(self, &[&places_along(self, axis)?], axis, Order::Rising))
        })
    }

    /// The places of the elements along an axis in falling order, as `i32`. Equal elements stay in order, NaN comes first.
    ///
    /// # Errors
    ///
    /// As [`Value::argsort`].
    #[track_caller]
    pub fn argsort_descending(&self, axis: i64) -> Value {
        build("argsort_descending", &[Arg::Value(self)], || {
            only(sorted(self, &[&places_along(self, axis)?], axis, Order::Falling))
        })
    }

    /// The elements along an axis, of any dtype, in the rising order of their `keys`. Those with equal keys stay in order;
    /// NaN is behind infinity.
    ///
    /// # Errors
    ///
    /// Keys of another shape, or complex ones; an axis that is not there.
    #[track_caller]
    pub fn sort_by_key(&self, keys: &Value, axis: i64) -> Value {
        build("sort_by_key", &[Arg::Value(self), Arg::Value(keys)], || {
            if keys.shape() != self.shape() {
                let (shape, keys) = (shape_text(self.shape()), shape_text(keys.shape()));
                return Err(format!("there is a key for each element, so the shape is {shape}, not {keys}"));
            }
            only(sorted(keys, &[self], axis, Order::Rising))
        })
    }

    /// The `k` greatest elements along the last axis in falling order, and their places as `i32`. NaN counts as greatest;
    /// of equal elements the first ones are taken, in order.
    ///
    /// # Errors
    ///
    /// As [`Value::argsort`]; a `k` that is negative or beyond the size of the axis.
    #[track_caller]
    pub fn top_k(&self, k: i64) -> (Value, Value) {
        let [values, places] = build_many("top_k", &[Arg::Value(self)], || {
            Takes::ORDERED.check(self.dtype())?;
            let axis = axes::axis(-1, self.rank())?;
            let n = countable(self, axis)?;
            if !(0..=n).contains(&k) {
                return Err(format!("there are {n} elements along the last axis, not {k}"));
            }
            let mut shape = self.shape().to_vec();
            shape[axis] = k;
            let results = [Aval::new(self.dtype(), &shape), aval(DType::I32, &shape)?];
            if results[0].len() == 0 {
                return Ok(results.map(|result| Value::zeros(result.dtype(), result.shape())));
            }
            let text = format!("\"chlo.top_k\"($0) <{{k = {k} : i64}}>");
            let mut top = op_many(text, &[by_bits(self)], results, Extra::default())?;
            let places = top.remove(1);
            // The keys are not the elements: these keep the sign of 0.
            let values = if self.dtype().is_float() { self.take_along(&places, -1) } else { top.remove(0) };
            Ok([values, places])
        });
        (values, places)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Rising,
    Falling,
}

/// The last one of the sorted arrays.
fn only(sorted: Result<Vec<Value>, Reason>) -> Result<Value, Reason> {
    Ok(sorted?.pop().expect("the keys at least are sorted"))
}

/// The keys and what goes with them, in the order of the keys along an axis.
fn sorted(keys: &Value, more: &[&Value], axis: i64, order: Order) -> Result<Vec<Value>, Reason> {
    Takes::ORDERED.check(keys.dtype())?;
    let axis = axes::axis(axis, keys.rank())?;
    let values: Vec<Value> = std::iter::once(keys).chain(more.iter().copied()).cloned().collect();
    if keys.aval().len() == 0 {
        return Ok(values);
    }
    let scalars =
        values.iter().flat_map(|value| [Aval::new(value.dtype(), []), Aval::new(value.dtype(), [])]);
    let comparison = closed_block(&scalars.collect::<Vec<_>>(), |values| match order {
        Order::Rising => vec![comes_first(&values[0], &values[1])],
        Order::Falling => vec![comes_first(&values[1], &values[0])],
    });
    let text = format!(
        "\"stablehlo.sort\"({}) <{{dimension = {axis} : i64, is_stable = true}}> ($r0)",
        places(values.len())
    );
    let results: Vec<Aval> = values.iter().map(|value| value.aval().clone()).collect();
    op_many(text, &values, results, Extra { blocks: vec![comparison], ..Extra::default() })
}

/// Whether a number comes before another one where NaN is the last.
fn comes_first(a: &Value, b: &Value) -> Value {
    let less = a.lt(b);
    if a.dtype().is_float() { less.or(b.is_nan().and(a.is_nan().not())) } else { less }
}

/// Floats whose order by bits, in which CHLO compares, is that of [`comes_first`]: there -NaN is the least and -0 less
/// than 0.
fn by_bits(value: &Value) -> Value {
    if !value.dtype().is_float() {
        return value.clone();
    }
    let number = value.eq(0).select(0, value);
    value.is_nan().select(f64::NAN, number)
}

/// The place of each element along an axis.
fn places_along(value: &Value, axis: i64) -> Result<Value, Reason> {
    let axis = axes::axis(axis, value.rank())?;
    countable(value, axis)?;
    Ok(Value::iota(DType::I32, value.shape(), axis as i64))
}

/// The size of an axis, if an `i32` counts its elements.
fn countable(value: &Value, axis: usize) -> Result<i64, Reason> {
    let n = value.shape()[axis];
    if n > i64::from(i32::MAX) {
        return Err(format!("axis {axis} has {n} elements, too many for an i32"));
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Graph, Value};
    use super::super::reduce::tests::{printed, refused};
    use crate::{Aval, DType};

    #[test]
    fn numbers_are_compared_in_a_block_of_scalars() {
        let graph = Graph::new();
        let x = graph.input("x", &Aval::new(DType::I32, [2, 3]));
        assert_eq!(
            printed(&graph, &x.sort_descending(-1)),
            [
                "%0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({",
                "^bb0(%1: tensor<i32>, %2: tensor<i32>):",
                "%3 = stablehlo.compare LT, %2, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
                "stablehlo.return %3 : tensor<i1>",
                "}) : (tensor<2x3xi32>) -> tensor<2x3xi32>",
            ]
        );
    }

    #[test]
    fn what_has_no_order_is_refused() {
        let (x, z) = (Value::zeros(DType::F32, [2, 3]), Value::zeros(DType::C64, [3]));
        for (wrong, expected) in [
            (z.sort(0), "`sort(c64[3])`: it takes bool, integers or floats, not c64; `convert` the value"),
            (x.sort(2), "`sort(f32[2,3])`: there is no axis 2 among 2 dimensions"),
            (Value::scalar(1f32).argsort(-1), "`argsort(f32[])`: there is no axis -1 among 0 dimensions"),
            (
                x.sort_by_key(&x.t(), 0),
                "`sort_by_key(f32[2,3], f32[3,2])`: there is a key for each element, so the shape is [2,3], not [3,2]",
            ),
            (x.top_k(4).0, "`top_k(f32[2,3])`: there are 3 elements along the last axis, not 4"),
            (x.top_k(-1).1, "`top_k(f32[2,3])`: there are 3 elements along the last axis, not -1"),
        ] {
            assert_eq!(refused(&wrong), expected);
        }
    }
}
