//! Elements and windows put in places that the program computes.

use super::super::axes;
use super::super::make::{Extra, op_many};
use super::super::operand::{Arg, Operand};
use super::super::poison::{Reason, build, first};
use super::super::region::{Block, closed_block};
use super::super::value::Value;
use super::elementwise::{Takes, same_dtype};
use super::gather::along;
use super::index::indices as checked;
use super::windows::Windows;
use crate::aval::shape_text;
use crate::{Aval, DType};

/// What becomes of an element and of what is put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// The new one takes its place. Where several are put in one place, any of them may be the one that stays.
    Set,
    /// Their sum.
    Add,
    /// Their product.
    Mul,
    /// The smaller one; NaN if one is NaN.
    Min,
    /// The greater one; NaN if one is NaN.
    Max,
}

impl Combine {
    fn check(self, dtype: DType) -> Result<(), Reason> {
        match self {
            Combine::Set => Ok(()),
            Combine::Add | Combine::Mul => Takes::NUMBERS.check(dtype),
            Combine::Min | Combine::Max => Takes::ORDERED.check(dtype),
        }
    }

    #[track_caller]
    fn of(self, old: &Value, new: &Value) -> Value {
        match self {
            Combine::Set => new.clone(),
            Combine::Add => old.add(new),
            Combine::Mul => old.mul(new),
            Combine::Min => old.minimum(new),
            Combine::Max => old.maximum(new),
        }
    }
}

/// What [`Value::scatter`] puts where, in the terms of StableHLO. Axes count from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScatterOptions {
    /// The axes of the updates that are axes of a window, rising; the others count windows, as the indices do.
    pub update_window_dims: Vec<i64>,
    /// The axes of the array along which a window has size 1, and which it does not have; rising.
    pub inserted_window_dims: Vec<i64>,
    /// The axes of the array that run along with axes of the indices; rising.
    pub input_batching_dims: Vec<i64>,
    /// The axes of the indices that they run along with.
    pub scatter_indices_batching_dims: Vec<i64>,
    /// The axis of the array to which each element of a vector of indices belongs.
    pub scatter_dims_to_operand_dims: Vec<i64>,
    /// The axis of the indices that holds the vectors; the rank of the indices if they are scalars.
    pub index_vector_dim: i64,
    /// A promise that the vectors of indices are in order.
    pub indices_are_sorted: bool,
    /// A promise that no two windows overlap.
    pub unique_indices: bool,
}

impl ScatterOptions {
    fn windows(&self) -> Windows<'_> {
        Windows {
            window: ("update_window_dims", &self.update_window_dims),
            dropped: ("inserted_window_dims", &self.inserted_window_dims),
            batching: ("input_batching_dims", &self.input_batching_dims),
            indices_batching: ("scatter_indices_batching_dims", &self.scatter_indices_batching_dims),
            map: ("scatter_dims_to_operand_dims", &self.scatter_dims_to_operand_dims),
            vector: self.index_vector_dim,
        }
    }

    /// The shape that updates have, with windows as large as the array along the axes that a window has.
    fn updates_shape(&self, array: &Value, indices: &Value, rank: usize) -> Result<Vec<i64>, Reason> {
        let windows = self.windows();
        let counts = windows.check(array, indices, Some(rank))?;
        let window: Vec<i64> = windows.kept(array.rank()).map(|axis| array.shape()[axis]).collect();
        Ok(windows.list_shape(&counts, &window))
    }

    fn text(&self) -> String {
        format!(
            "\"stablehlo.scatter\"($0, $1, $2) <{{indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, unique_indices = {}}}> ($r0)",
            self.indices_are_sorted,
            self.windows().text(),
            self.unique_indices,
        )
    }
}

impl Value {
    /// The array with windows put in the given places; the general form of [`Value::put`].
    ///
    /// A window that does not lie within the array is left out.
    ///
    /// # Errors
    ///
    /// The indices are no integers, the updates have another dtype, the dtype does not combine in this way, or the options
    /// break a rule of StableHLO's [scatter](https://openxla.org/stablehlo/spec#scatter).
    #[track_caller]
    pub fn scatter(
        &self,
        indices: &Value,
        updates: &Value,
        options: &ScatterOptions,
        combine: Combine,
    ) -> Value {
        build("scatter", &[Arg::Value(self), Arg::Value(indices), Arg::Value(updates)], || {
            let indices = checked(indices)?;
            self.updates(&indices, updates, options)?;
            self.scattered(&indices, updates, options, combine)
        })
    }

    /// [`Value::scatter`] with a closure that combines an element, its first argument, with what is put in its place.
    ///
    /// Where several are put in one place the closure is called for each of them, in any order. It has to be made of its
    /// arguments and of constants.
    ///
    /// # Errors
    ///
    /// Those of [`Value::scatter`]; the closure gives another dtype or no scalar, or uses a value from outside.
    #[track_caller]
    pub fn scatter_with(
        &self,
        indices: &Value,
        updates: &Value,
        options: &ScatterOptions,
        combine: impl FnOnce(Value, Value) -> Value,
    ) -> Value {
        build("scatter_with", &[Arg::Value(self), Arg::Value(indices), Arg::Value(updates)], || {
            let indices = checked(indices)?;
            self.updates(&indices, updates, options)?;
            self.scatter_block(&indices, updates, options, self.combination(combine))
        })
    }

    /// Checks the updates of a scatter.
    fn updates(&self, indices: &Value, updates: &Value, options: &ScatterOptions) -> Result<(), Reason> {
        same_dtype(self, updates)?;
        let most = options.updates_shape(self, indices, updates.rank())?;
        let window = |axis: usize| options.update_window_dims.contains(&(axis as i64));
        let fits = most.len() == updates.rank()
            && most
                .iter()
                .zip(updates.shape())
                .enumerate()
                .all(|(axis, (most, n))| if window(axis) { n <= most } else { n == most });
        if fits {
            return Ok(());
        }
        let (updates, most) = (shape_text(updates.shape()), shape_text(&most));
        Err(format!("the updates have the shape {updates}, not {most} or one with smaller windows"))
    }

    #[track_caller]
    fn combination(&self, combine: impl FnOnce(Value, Value) -> Value) -> Block {
        let scalar = Aval::new(self.dtype(), []);
        closed_block(&[scalar.clone(), scalar], |values| {
            let [old, new] = <[Value; 2]>::try_from(values).expect("a block has as many values as types");
            vec![combine(old, new)]
        })
    }

    #[track_caller]
    fn scattered(
        &self,
        indices: &Value,
        updates: &Value,
        options: &ScatterOptions,
        combine: Combine,
    ) -> Result<Value, Reason> {
        combine.check(self.dtype())?;
        let body = self.combination(|old, new| combine.of(&old, &new));
        self.scatter_block(indices, updates, options, body)
    }

    #[track_caller]
    fn scatter_block(
        &self,
        indices: &Value,
        updates: &Value,
        options: &ScatterOptions,
        body: Block,
    ) -> Result<Value, Reason> {
        if let Some(wrong) = first(&body.results) {
            return Ok(wrong.clone());
        }
        body.check_closed(&[Aval::new(self.dtype(), [])])?;
        // Nothing to put, or no place for it.
        if updates.aval().len() == 0 || self.aval().len() == 0 {
            return Ok(self.clone());
        }
        // XLA puts one number into a scalar, but not several.
        if self.rank() == 0 && updates.rank() > 0 {
            let options = ScatterOptions {
                inserted_window_dims: vec![0],
                scatter_dims_to_operand_dims: vec![0],
                index_vector_dim: updates.rank() as i64,
                ..options.clone()
            };
            let zeros = Value::zeros(DType::I32, updates.shape());
            return self.reshape_to(&[1])?.scatter_block(&zeros, updates, &options, body)?.reshape_to(&[]);
        }
        let operands = [self.clone(), indices.clone(), updates.clone()];
        let extra = Extra { blocks: vec![body], ..Extra::default() };
        let mut results = op_many(options.text(), &operands, [self.aval().clone()], extra)?;
        Ok(results.remove(0))
    }

    /// The array with `updates` put at these indices along an axis; the opposite of [`Value::take`], and
    /// `x.at[indices].set(updates)` of JAX.
    ///
    /// `updates` is broadcast to the shape that `self.take(indices, axis)` has. What is put at an index below 0 or beyond
    /// the axis is left out.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{Combine, Value};
    ///
    /// let x = Value::zeros(DType::F32, [100, 8]);
    /// let rows = Value::constant(&[3, 3, 7], [3]);
    /// assert_eq!(x.put(&rows, 1.0, 0, Combine::Add).shape(), [100, 8]);
    /// ```
    ///
    /// # Errors
    ///
    /// The indices are no integers; there is no such axis; the updates have another dtype or do not broadcast; the dtype
    /// does not combine in this way.
    #[track_caller]
    pub fn put(&self, indices: &Value, updates: impl Operand, axis: i64, combine: Combine) -> Value {
        let updates = updates.operand();
        build("put", &[Arg::Value(self), Arg::Value(indices), updates], || {
            let axis = axes::axis(axis, self.rank())?;
            let indices = checked(indices)?;
            let rank = (self.rank() + indices.rank()) as i64 - 1;
            let axis_end = (axis + indices.rank()) as i64;
            let options = ScatterOptions {
                update_window_dims: (0..axis as i64).chain(axis_end..rank).collect(),
                inserted_window_dims: vec![axis as i64],
                scatter_dims_to_operand_dims: vec![axis as i64],
                index_vector_dim: indices.rank() as i64,
                ..ScatterOptions::default()
            };
            let shape = options.updates_shape(self, &indices, rank as usize)?;
            let updates = self.fitted(updates, &shape)?;
            self.scattered(&indices, &updates, &options, combine)
        })
    }

    /// The array with `updates` put at these indices along an axis, one index for each update: the opposite of
    /// [`Value::take_along`].
    ///
    /// The indices are broadcast to the array along the other axes, the updates to the indices. What is put at an index
    /// below 0 or beyond the axis is left out.
    ///
    /// # Errors
    ///
    /// The indices are no integers, have another rank, or do not broadcast; there is no such axis; the updates have another
    /// dtype or do not broadcast; the dtype does not combine in this way.
    #[track_caller]
    pub fn put_along(&self, indices: &Value, updates: impl Operand, axis: i64, combine: Combine) -> Value {
        let updates = updates.operand();
        build("put_along", &[Arg::Value(self), Arg::Value(indices), updates], || {
            let axis = axes::axis(axis, self.rank())?;
            let (array, indices) = along(self, &checked(indices)?, axis)?;
            if array.shape() != self.shape() {
                let (array, indices) = (shape_text(self.shape()), shape_text(indices.shape()));
                return Err(format!(
                    "indices of the shape {indices} do not broadcast to {array} beside axis {axis}"
                ));
            }
            let updates = self.fitted(updates, indices.shape())?;
            let others: Vec<i64> = (0..self.rank() as i64).filter(|&other| other != axis as i64).collect();
            let options = ScatterOptions {
                inserted_window_dims: vec![axis as i64],
                input_batching_dims: others.clone(),
                scatter_indices_batching_dims: others,
                scatter_dims_to_operand_dims: vec![axis as i64],
                index_vector_dim: indices.rank() as i64,
                ..ScatterOptions::default()
            };
            self.scattered(&indices, &updates, &options, combine)
        })
    }

    /// Updates at the dtype of the array and at this shape.
    #[track_caller]
    fn fitted(&self, updates: Arg<'_>, shape: &[i64]) -> Result<Value, Reason> {
        let updates = updates.at(self.dtype(), shape)?;
        same_dtype(self, &updates)?;
        updates.broadcast_to_shape(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{assert_wrong, input};
    use super::super::super::{Combine, Graph, ScatterOptions};
    use crate::DType;

    #[test]
    fn wrong_updates_are_errors() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::Bool, &[4]);
        let c = input(&graph, "c", DType::C64, &[4]);
        let i = input(&graph, "i", DType::I32, &[2]);
        let options = ScatterOptions {
            inserted_window_dims: vec![0],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..ScatterOptions::default()
        };
        let outside = c.slice(0);
        assert_wrong([
            (
                x.put(&i, true, 0, Combine::Add),
                "put(x: bool[4], i: i32[2], true): it takes integers, floats or complex numbers, not bool; `convert` the value",
            ),
            (
                c.put(&i, 1.0, 0, Combine::Max),
                "put(c: c64[4], i: i32[2], 1.0): it takes bool, integers or floats, not c64; `convert` the value",
            ),
            (
                x.put(&i, &x, 0, Combine::Set),
                "put(x: bool[4], i: i32[2], x: bool[4]): [4] does not broadcast to [2]",
            ),
            (
                x.put(&i, &c, 0, Combine::Set),
                "put(x: bool[4], i: i32[2], c: c64[4]): bool and c64 are different dtypes; write `.convert(DType::Bool)` or `.convert(DType::C64)`",
            ),
            (
                x.scatter(&i, &x, &options, Combine::Set),
                "scatter(x: bool[4], i: i32[2], x: bool[4]): the updates have the shape [4], not [2] or one with smaller windows",
            ),
            (
                c.scatter_with(&i, &c.slice(..2), &options, |old, _| old.real()),
                "scatter_with(c: c64[4], i: i32[2], c64[2]): the closure gives f32[] instead of c64[]",
            ),
            (
                c.scatter_with(&i, &c.slice(..2), &options, |old, _| old + &outside),
                "scatter_with(c: c64[4], i: i32[2], c64[2]): the closure uses c64[] from outside; it may use its arguments and constants alone",
            ),
            (
                c.scatter_with(&i, &c.slice(..2), &options, |old, new| old.maximum(new)),
                "maximum(c64[], c64[]): it takes bool, integers or floats, not c64; `convert` the value",
            ),
        ]);
    }
}
