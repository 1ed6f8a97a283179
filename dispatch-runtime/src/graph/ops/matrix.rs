//! Triangles and diagonals of matrices.

use super::super::constant::zero;
use super::super::make::aval;
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::Value;
use super::index::counter;
use super::shape::is_matrix;
use super::slice::step;
use crate::DType;

impl Value {
    /// The lower triangle of each matrix: zeros (`false`) above the `k`th diagonal. Diagonal 0 starts in the upper left
    /// corner, positive ones are above it.
    ///
    /// # Errors
    ///
    /// There are fewer than two axes.
    #[track_caller]
    pub fn tril(&self, k: i64) -> Value {
        build("tril", &[Arg::Value(self)], || {
            let inside = below(self, k)?;
            Ok(inside.select(self, Arg::Scalar(zero(self.dtype()))))
        })
    }

    /// The upper triangle of each matrix: zeros (`false`) below the `k`th diagonal. Diagonal 0 starts in the upper left
    /// corner, positive ones are above it.
    ///
    /// # Errors
    ///
    /// There are fewer than two axes.
    #[track_caller]
    pub fn triu(&self, k: i64) -> Value {
        build("triu", &[Arg::Value(self)], || {
            let outside = below(self, k.saturating_sub(1))?;
            Ok(outside.select(Arg::Scalar(zero(self.dtype())), self))
        })
    }

    /// The `n` by `n` matrix with ones (`true`) on its diagonal, zeros elsewhere.
    ///
    /// # Errors
    ///
    /// `n` is negative, or no array is that large.
    #[track_caller]
    pub fn eye(dtype: DType, n: i64) -> Value {
        build("eye", &[], || {
            aval(dtype, &[n, n])?;
            let count = counter(n);
            Ok(Value::iota(count, [n, n], 0).eq(Value::iota(count, [n, n], 1)).convert(dtype))
        })
    }

    /// Of a vector: the matrix that has it on its diagonal, zeros (`false`) elsewhere. Of a matrix: its diagonal.
    ///
    /// # Errors
    ///
    /// It is neither a vector nor a matrix; [`Value::diagonal`] takes the diagonals of several matrices.
    #[track_caller]
    pub fn diag(&self) -> Value {
        build("diag", &[Arg::Value(self)], || match *self.shape() {
            [n] => {
                // With n zeros behind each element but the last, they are n + 1 apart: on the diagonal.
                aval(self.dtype(), &[n, n])?;
                self.pad([0], [0], [n], Arg::Scalar(zero(self.dtype()))).reshape_to(&[n, n])
            }
            [_, _] => Ok(self.diagonal()),
            _ => Err("it takes a vector or a matrix; `diagonal` takes the last two axes".into()),
        })
    }

    /// The diagonal of each matrix, from its upper left corner on; the last two axes are rows and columns.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// assert_eq!(Value::zeros(DType::F32, [5, 2, 3]).diagonal().shape(), [5, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// There are fewer than two axes.
    #[track_caller]
    pub fn diagonal(&self) -> Value {
        build("diagonal", &[Arg::Value(self)], || {
            is_matrix(self)?;
            let (front, matrix) = self.shape().split_at(self.rank() - 2);
            let (rows, columns) = (matrix[0], matrix[1]);
            // In row-major order the elements of the diagonal are columns + 1 apart.
            let flat: Vec<i64> = front.iter().copied().chain([rows * columns]).collect();
            let n = rows.min(columns);
            let stop = (n - 1).max(0) * (columns + 1) + i64::from(n > 0);
            self.reshape_to(&flat)?.part_of_axis(front.len(), step(..stop, columns + 1))
        })
    }
}

/// Where a matrix of the value's last two axes is not above the `k`th diagonal: `bool[rows, columns]`.
#[track_caller]
fn below(value: &Value, k: i64) -> Result<Value, Reason> {
    is_matrix(value)?;
    let matrix = &value.shape()[value.rank() - 2..];
    let (rows, columns) = (matrix[0], matrix[1]);
    let count = counter(rows.saturating_add(columns));
    aval(count, matrix)?;
    let row = Value::iota(count, matrix, 0).add(k.clamp(-rows, columns));
    Ok(row.ge(Value::iota(count, matrix, 1)))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{assert_wrong, input, printed};
    use super::super::super::{Graph, Value};
    use crate::DType;

    #[test]
    fn a_triangle_and_a_diagonal_are_of_a_matrix() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[3]);
        let cube = input(&graph, "cube", DType::F32, &[2, 2, 2]);
        assert_wrong([
            (x.tril(0), "tril(x: f32[3]): it takes a matrix, not 1 dimension"),
            (x.triu(0), "triu(x: f32[3]): it takes a matrix, not 1 dimension"),
            (x.diagonal(), "diagonal(x: f32[3]): it takes a matrix, not 1 dimension"),
            (
                cube.diag(),
                "diag(cube: f32[2,2,2]): it takes a vector or a matrix; `diagonal` takes the last two axes",
            ),
            (Value::eye(DType::F32, -1), "eye(): no array of f32 has the shape [-1,-1]"),
            (
                Value::eye(DType::F32, i64::MAX),
                "eye(): no array of f32 has the shape [9223372036854775807,9223372036854775807]",
            ),
        ]);
        assert_eq!(
            printed(&graph, &cube.diagonal()),
            "%0 = stablehlo.reshape %cube : (tensor<2x2x2xf32>) -> tensor<2x4xf32>\n\
             %1 = stablehlo.slice %0 [0:2, 0:4:3] : (tensor<2x4xf32>) -> tensor<2x2xf32>"
        );
    }
}
