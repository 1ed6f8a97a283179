//! Elements and windows taken from places that the program computes.

use super::super::axes;
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::broadcast::common_shape;
use super::index::{indices as checked, nothing};
use super::windows::Windows;
use crate::aval::shape_text;

/// What [`Value::gather`] takes from where, in the terms of StableHLO. Axes count from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherOptions {
    /// The axes of the result that are axes of a window, rising; the others count windows, as the indices do.
    pub offset_dims: Vec<i64>,
    /// The axes of the operand along which a window has size 1, and which it does not have; rising.
    pub collapsed_slice_dims: Vec<i64>,
    /// The axes of the operand that run along with axes of the indices; rising.
    pub operand_batching_dims: Vec<i64>,
    /// The axes of the indices that they run along with.
    pub start_indices_batching_dims: Vec<i64>,
    /// The axis of the operand to which each element of a vector of indices belongs.
    pub start_index_map: Vec<i64>,
    /// The axis of the indices that holds the vectors; the rank of the indices if they are scalars.
    pub index_vector_dim: i64,
    /// The size of a window along each axis of the operand.
    pub slice_sizes: Vec<i64>,
    /// A promise that the vectors of indices are in order.
    pub indices_are_sorted: bool,
}

impl GatherOptions {
    fn windows(&self) -> Windows<'_> {
        Windows {
            window: ("offset_dims", &self.offset_dims),
            dropped: ("collapsed_slice_dims", &self.collapsed_slice_dims),
            batching: ("operand_batching_dims", &self.operand_batching_dims),
            indices_batching: ("start_indices_batching_dims", &self.start_indices_batching_dims),
            map: ("start_index_map", &self.start_index_map),
            vector: self.index_vector_dim,
        }
    }
}

impl Value {
    /// The windows of the array that start at the given places; the general form of [`Value::take`].
    ///
    /// An index is moved so that the window lies within the array.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{GatherOptions, Value};
    ///
    /// // Five windows of 2 by 3, each at a row and a column.
    /// let x = Value::zeros(DType::F32, [10, 10]);
    /// let places = Value::zeros(DType::I32, [5, 2]);
    /// let windows = x.gather(
    ///     &places,
    ///     &GatherOptions {
    ///         offset_dims: vec![1, 2],
    ///         start_index_map: vec![0, 1],
    ///         index_vector_dim: 1,
    ///         slice_sizes: vec![2, 3],
    ///         ..GatherOptions::default()
    ///     },
    /// );
    /// assert_eq!(windows.shape(), [5, 2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// The indices are no integers, or the options break a rule of StableHLO's
    /// [gather](https://openxla.org/stablehlo/spec#gather); a collapsed axis has to have windows of size 1.
    #[track_caller]
    pub fn gather(&self, indices: &Value, options: &GatherOptions) -> Value {
        build("gather", &[Arg::Value(self), Arg::Value(indices)], || {
            self.gather_windows(&checked(indices)?, options)
        })
    }

    #[track_caller]
    fn gather_windows(&self, indices: &Value, options: &GatherOptions) -> Result<Value, Reason> {
        let (windows, sizes) = (options.windows(), &options.slice_sizes);
        let counts = windows.check(self, indices, None)?;
        let fits = sizes.len() == self.rank()
            && sizes.iter().zip(self.shape()).all(|(n, size)| (0..=*size).contains(n));
        if !fits {
            let (sizes, shape) = (shape_text(sizes), shape_text(self.shape()));
            return Err(format!("slice_sizes is {sizes}, which does not fit into {shape}"));
        }
        for (name, axes) in [windows.dropped, windows.batching] {
            // One element, or none along an axis that has none.
            let size = |axis: i64| self.shape()[axis as usize].min(1);
            if let Some(axis) = axes.iter().find(|&&axis| sizes[axis as usize] != size(axis)) {
                return Err(format!(
                    "slice_sizes is {} along axis {axis} of {name}, not 1",
                    sizes[*axis as usize]
                ));
            }
        }
        let window: Vec<i64> = windows.kept(self.rank()).map(|axis| sizes[axis]).collect();
        super::windows::in_range(windows.window, counts.len() + window.len())?;
        let result = aval(self.dtype(), &windows.list_shape(&counts, &window))?;
        if let Some(nothing) = nothing(&result) {
            return Ok(nothing);
        }
        if let Some(axis) = windows.dropped.1.iter().find(|&&axis| self.shape()[axis as usize] == 0) {
            return Err(format!("nothing can be taken from axis {axis}, which has size 0"));
        }
        let text = format!(
            "\"stablehlo.gather\"($0, $1) <{{dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, slice_sizes = array<i64{}{}>}}>",
            windows.text(),
            options.indices_are_sorted,
            if sizes.is_empty() { "" } else { ": " },
            sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
        );
        Ok(op(text, Types::Function, [self, indices], result))
    }

    /// The elements at these indices along an axis, which the axes of the indices take the place of.
    ///
    /// An index below 0 is 0, one too large is the last of the axis.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let table = Value::zeros(DType::F32, [100, 8]);
    /// let words = Value::zeros(DType::I32, [4, 20]);
    /// assert_eq!(table.take(&words, 0).shape(), [4, 20, 8]);
    /// ```
    ///
    /// # Errors
    ///
    /// The indices are no integers; there is no such axis, or it has size 0 and the result does not.
    #[track_caller]
    pub fn take(&self, indices: &Value, axis: i64) -> Value {
        build("take", &[Arg::Value(self), Arg::Value(indices)], || {
            let axis = axes::axis(axis, self.rank())?;
            let indices = checked(indices)?;
            let rank = (self.rank() + indices.rank()) as i64 - 1;
            let axis_end = (axis + indices.rank()) as i64;
            let axis = axis as i64;
            let mut sizes = self.shape().to_vec();
            sizes[axis as usize] = sizes[axis as usize].min(1);
            let options = GatherOptions {
                offset_dims: (0..axis).chain(axis_end..rank).collect(),
                collapsed_slice_dims: vec![axis],
                start_index_map: vec![axis],
                index_vector_dim: indices.rank() as i64,
                slice_sizes: sizes,
                ..GatherOptions::default()
            };
            self.gather_windows(&indices, &options)
        })
    }

    /// The elements at these indices along an axis, one index for each element of the result: at `[i, j]`, along axis 1,
    /// the element `[i, indices[i, j]]`. The other axes are broadcast.
    ///
    /// An index below 0 is 0, one too large is the last of the axis.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let scores = Value::zeros(DType::F32, [32, 10]);
    /// let labels = Value::zeros(DType::I32, [32, 1]);
    /// assert_eq!(scores.take_along(&labels, 1).shape(), [32, 1]);
    /// ```
    ///
    /// # Errors
    ///
    /// The indices are no integers, have another rank, or do not broadcast; there is no such axis, or it has size 0 and the
    /// result does not.
    #[track_caller]
    pub fn take_along(&self, indices: &Value, axis: i64) -> Value {
        build("take_along", &[Arg::Value(self), Arg::Value(indices)], || {
            let axis = axes::axis(axis, self.rank())?;
            let indices = checked(indices)?;
            let (array, indices) = along(self, &indices, axis)?;
            let others: Vec<i64> = (0..self.rank() as i64).filter(|&other| other != axis as i64).collect();
            let options = GatherOptions {
                collapsed_slice_dims: vec![axis as i64],
                operand_batching_dims: others.clone(),
                start_indices_batching_dims: others,
                start_index_map: vec![axis as i64],
                index_vector_dim: indices.rank() as i64,
                slice_sizes: array.shape().iter().map(|&n| n.min(1)).collect(),
                ..GatherOptions::default()
            };
            array.gather_windows(&indices, &options)
        })
    }
}

/// An array and indices of the same rank, broadcast to each other on all axes but one.
#[track_caller]
pub(super) fn along(array: &Value, indices: &Value, axis: usize) -> Result<(Value, Value), Reason> {
    if indices.rank() != array.rank() {
        let (array, indices) = (shape_text(array.shape()), shape_text(indices.shape()));
        return Err(format!("indices of the shape {indices} have another rank than {array}"));
    }
    let others = |value: &Value| {
        let mut shape = value.shape().to_vec();
        shape[axis] = 1;
        shape
    };
    let mut shape = common_shape(&others(array), &others(indices))?;
    shape[axis] = array.shape()[axis];
    let array = array.broadcast_to_shape(&shape)?;
    shape[axis] = indices.shape()[axis];
    Ok((array, indices.broadcast_to_shape(&shape)?))
}

#[cfg(test)]
mod tests {
    use super::super::super::Graph;
    use super::super::super::testing::{assert_wrong, input, printed};
    use crate::DType;

    #[test]
    fn wrong_indices_are_errors() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 0]);
        let i = input(&graph, "i", DType::I32, &[3]);
        let j = input(&graph, "j", DType::I32, &[3, 1]);
        assert_wrong([
            (x.take(&x, 0), "take(x: f32[2,0], x: f32[2,0]): indices are integers, not f32"),
            (x.take(&i, 2), "take(x: f32[2,0], i: i32[3]): there is no axis 2 among 2 dimensions"),
            (
                x.take(&i, 1),
                "take(x: f32[2,0], i: i32[3]): nothing can be taken from axis 1, which has size 0",
            ),
            (
                x.take_along(&i, 0),
                "take_along(x: f32[2,0], i: i32[3]): indices of the shape [3] have another rank than [2,0]",
            ),
            (x.take_along(&j, 1), "take_along(x: f32[2,0], j: i32[3,1]): [2,1] and [3,1] do not broadcast"),
        ]);
    }

    #[test]
    fn take_is_a_gather_without_detours() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[3, 4, 5]);
        let i = input(&graph, "i", DType::I32, &[2, 6]);
        assert_eq!(
            printed(&graph, &x.take(&i, 1)),
            "%0 = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 3], \
             collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, \
             slice_sizes = array<i64: 3, 1, 5>}> : (tensor<3x4x5xf32>, tensor<2x6xi32>) -> tensor<3x2x6x5xf32>"
        );
    }
}
