//! The same elements in another shape, or in another order of the axes.

use super::super::axes::{self, Axes};
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use crate::aval::shape_text;
use crate::error::counted;

impl Value {
    /// The same elements, in row-major order, in another shape. One size may be -1: it becomes what the others leave.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::zeros(DType::F32, [2, 3, 4]);
    /// assert_eq!(x.reshape([6, -1]).shape(), [6, 4]);
    /// ```
    ///
    /// # Errors
    ///
    /// The shape has another number of elements; several sizes are -1; a size is -1 beside one of 0.
    #[track_caller]
    pub fn reshape(&self, shape: impl AsRef<[i64]>) -> Value {
        build("reshape", &[Arg::Value(self)], || {
            let mut shape = shape.as_ref().to_vec();
            let mut open = (0..shape.len()).filter(|&i| shape[i] == -1);
            if let Some(i) = open.next() {
                if open.next().is_some() {
                    return Err(format!("only one size can be -1, not {}", shape_text(&shape)));
                }
                let given = shape_text(&shape);
                shape[i] = 1;
                let (len, known) = (self.aval().len(), aval(self.dtype(), &shape)?.len());
                if known == 0 {
                    return Err(format!("in {given} the -1 could be any size"));
                }
                if len % known != 0 {
                    return Err(format!("no size makes {given} of {}", counted(len, "element")));
                }
                shape[i] = (len / known) as i64;
            }
            self.reshape_to(&shape)
        })
    }

    /// [`Value::reshape`] where a wrong shape is part of another operation's error.
    #[track_caller]
    pub(in super::super) fn reshape_to(&self, shape: &[i64]) -> Result<Value, Reason> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        let result = aval(self.dtype(), shape)?;
        if result.len() != self.aval().len() {
            let (from, to) = (self.aval().len(), result.len());
            return Err(format!("{} has {}, not {from}", shape_text(shape), counted(to, "element")));
        }
        Ok(op("stablehlo.reshape $0", Types::Function, [self], result))
    }

    /// All elements in row-major order as a vector.
    #[track_caller]
    pub fn flatten(&self) -> Value {
        build("flatten", &[Arg::Value(self)], || self.reshape_to(&[self.aval().len() as i64]))
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of the value.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::zeros(DType::F32, [2, 3, 4]);
    /// assert_eq!(x.transpose([2, 0, 1]).shape(), [4, 2, 3]);
    /// ```
    ///
    /// # Errors
    ///
    /// An axis is missing, or named twice.
    #[track_caller]
    pub fn transpose(&self, axes: impl AsRef<[i64]>) -> Value {
        build("transpose", &[Arg::Value(self)], || {
            let given = axes.as_ref();
            let order = given.list(self.rank())?;
            if order.len() != self.rank() {
                let dimensions = counted(self.rank(), "dimension");
                return Err(format!("{} names {} of {dimensions}", shape_text(given), order.len()));
            }
            Ok(self.in_order(&order))
        })
    }

    /// The axes in this order, each of them named once.
    #[track_caller]
    pub(in super::super) fn in_order(&self, order: &[usize]) -> Value {
        if order.iter().copied().eq(0..self.rank()) {
            return self.clone();
        }
        let shape: Vec<i64> = order.iter().map(|&axis| self.shape()[axis]).collect();
        let text = format!("stablehlo.transpose $0, dims = {}", axes::list(order));
        op(text, Types::Function, [self], crate::Aval::new(self.dtype(), shape))
    }

    /// The transposed matrix: the last two axes are swapped.
    ///
    /// # Errors
    ///
    /// There are fewer than two axes.
    #[track_caller]
    pub fn t(&self) -> Value {
        build("t", &[Arg::Value(self)], || {
            is_matrix(self)?;
            Ok(self.swap_axes(-2, -1))
        })
    }

    /// Swaps two axes.
    ///
    /// # Errors
    ///
    /// There is no such axis.
    #[track_caller]
    pub fn swap_axes(&self, a: i64, b: i64) -> Value {
        build("swap_axes", &[Arg::Value(self)], || {
            let mut order: Vec<usize> = (0..self.rank()).collect();
            order.swap(axes::axis(a, self.rank())?, axes::axis(b, self.rank())?);
            Ok(self.in_order(&order))
        })
    }

    /// Moves an axis to another place; the others stay in their order.
    ///
    /// # Errors
    ///
    /// There is no such axis.
    #[track_caller]
    pub fn move_axis(&self, from: i64, to: i64) -> Value {
        build("move_axis", &[Arg::Value(self)], || {
            let mut order: Vec<usize> = (0..self.rank()).collect();
            let moved = order.remove(axes::axis(from, self.rank())?);
            order.insert(axes::axis(to, self.rank())?, moved);
            Ok(self.in_order(&order))
        })
    }

    /// Puts in a new axis of size 1, which is axis `axis` of the result: -1 is behind all others.
    ///
    /// # Errors
    ///
    /// The result has no such axis.
    #[track_caller]
    pub fn expand_dims(&self, axis: i64) -> Value {
        build("expand_dims", &[Arg::Value(self)], || {
            let mut shape = self.shape().to_vec();
            shape.insert(axes::axis(axis, self.rank() + 1)?, 1);
            self.reshape_to(&shape)
        })
    }

    /// Takes axes of size 1 away; `..` takes away all there are.
    ///
    /// # Errors
    ///
    /// An axis has another size.
    #[track_caller]
    pub fn squeeze(&self, axes: impl Axes) -> Value {
        build("squeeze", &[Arg::Value(self)], || {
            let mut away = axes.list(self.rank())?;
            if axes.all() {
                away.retain(|&axis| self.shape()[axis] == 1);
            }
            if let Some(axis) = away.iter().find(|&&axis| self.shape()[axis] != 1) {
                return Err(format!("axis {axis} has size {}, not 1", self.shape()[*axis]));
            }
            let left = (0..self.rank()).filter(|axis| !away.contains(axis));
            self.reshape_to(&left.map(|axis| self.shape()[axis]).collect::<Vec<_>>())
        })
    }
}

/// Whether a value has rows and columns; the axes in front of those count matrices.
pub(super) fn is_matrix(value: &Value) -> Result<(), Reason> {
    if value.rank() >= 2 {
        return Ok(());
    }
    Err(format!("it takes a matrix, not {}", counted(value.rank(), "dimension")))
}

#[cfg(test)]
mod tests {
    use super::super::super::Graph;
    use super::super::super::testing::{assert_wrong, input, printed};
    use crate::DType;

    #[test]
    fn a_shape_that_does_not_fit_is_an_error() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 3]);
        let e = input(&graph, "e", DType::F32, &[0, 3]);
        assert_wrong([
            (x.reshape([3]), "reshape(x: f32[2,3]): [3] has 3 elements, not 6"),
            (x.reshape([4, -1]), "reshape(x: f32[2,3]): no size makes [4,-1] of 6 elements"),
            (x.reshape([-1, -1]), "reshape(x: f32[2,3]): only one size can be -1, not [-1,-1]"),
            (x.reshape([-2, -3]), "reshape(x: f32[2,3]): no array of f32 has the shape [-2,-3]"),
            (
                x.reshape([i64::MAX, -1, 4]),
                "reshape(x: f32[2,3]): no array of f32 has the shape [9223372036854775807,1,4]",
            ),
            (e.reshape([0, -1]), "reshape(e: f32[0,3]): in [0,-1] the -1 could be any size"),
            (x.transpose([0]), "transpose(x: f32[2,3]): [0] names 1 of 2 dimensions"),
            (x.transpose([0, -2]), "transpose(x: f32[2,3]): axis -2 is named twice"),
            (x.flatten().t(), "t(f32[6]): it takes a matrix, not 1 dimension"),
            (x.swap_axes(0, 2), "swap_axes(x: f32[2,3]): there is no axis 2 among 2 dimensions"),
            (x.move_axis(0, -3), "move_axis(x: f32[2,3]): there is no axis -3 among 2 dimensions"),
            (x.expand_dims(3), "expand_dims(x: f32[2,3]): there is no axis 3 among 3 dimensions"),
            (x.squeeze([0]), "squeeze(x: f32[2,3]): axis 0 has size 2, not 1"),
        ]);
    }

    #[test]
    fn what_changes_nothing_is_not_printed() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 1]);
        let same = x.reshape([2, -1]).transpose([0, 1]).swap_axes(1, 1).squeeze([0; 0]);
        assert_eq!(printed(&graph, &same), "");
        assert_eq!(
            printed(&graph, &same.t()),
            "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x1xf32>) -> tensor<1x2xf32>"
        );
    }
}
