//! Linear algebra with triangular and with positive definite matrices. The last two axes are rows and columns, those in
//! front count matrices.

use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::broadcast::common_shape;
use super::elementwise::{Takes, same_dtype};
use super::reduce::wide;
use super::shape::is_matrix;
use crate::aval::shape_text;

/// Which system of equations [`Value::triangular_solve`] solves: `op(a) x = b` with the lower triangle of `a`, unless
/// said otherwise.
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::graph::{Transpose, TriangularOptions, Value};
///
/// let (a, b) = (Value::eye(DType::F32, 3), Value::ones(DType::F32, [3, 2]));
/// let options = TriangularOptions { transpose: Transpose::Yes, ..TriangularOptions::default() };
/// assert_eq!(a.triangular_solve(&b, options).shape(), [3, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriangularOptions {
    /// Whether `op(a)` stands on the left; else the system is `x op(a) = b`.
    pub left_side: bool,
    /// Whether `a` is its lower triangle, else it is the upper one. The other half of `a` is not read.
    pub lower: bool,
    /// Whether the diagonal is ones, whatever `a` has there.
    pub unit_diagonal: bool,
    /// What `op` does to `a`.
    pub transpose: Transpose,
}

impl Default for TriangularOptions {
    fn default() -> TriangularOptions {
        TriangularOptions { left_side: true, lower: true, unit_diagonal: false, transpose: Transpose::No }
    }
}

/// What is taken of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transpose {
    /// The matrix as it is.
    #[default]
    No,
    /// Rows as columns.
    Yes,
    /// Rows as columns, complex conjugated.
    Adjoint,
}

impl Value {
    /// The lower triangle `l` with `l lᴴ` equal to this positive definite matrix; above the diagonal it is 0. Only the
    /// lower triangle of the matrix is read. Where a matrix is not positive definite, the result has NaN.
    ///
    /// `f16` and `bf16` are computed in `f32`.
    ///
    /// # Errors
    ///
    /// Integers or `bool`; a matrix that is not square.
    #[track_caller]
    pub fn cholesky(&self) -> Value {
        build("cholesky", &[Arg::Value(self)], || Ok(cholesky(self)?.convert(self.dtype())))
    }

    /// The solution of a system of equations with a triangular matrix `self`, for each column of `b`. By the
    /// [`TriangularOptions`] it may be the transposed matrix, or stand on the right. Axes in front of the matrices are
    /// broadcast; `b` may be a vector. A 0 on the diagonal divides by 0.
    ///
    /// `f16` and `bf16` are computed in `f32`.
    ///
    /// # Errors
    ///
    /// Dtypes differ, or are integers or `bool`; `self` is not square; sizes do not fit.
    #[track_caller]
    pub fn triangular_solve(&self, b: &Value, options: TriangularOptions) -> Value {
        build("triangular_solve", &[Arg::Value(self), Arg::Value(b)], || {
            same_dtype(self, b)?;
            square(self)?;
            let solution = |b: &Value| solve(&wide(self), b, options);
            Ok(with_columns(&wide(b), options.left_side, solution)?.convert(self.dtype()))
        })
    }

    /// The solution of `self x = b` with a positive definite matrix, for each column of `b`, by its
    /// [`Value::cholesky`]. Axes in front of the matrices are broadcast; `b` may be a vector. Where a matrix is not positive
    /// definite, the result is NaN.
    ///
    /// # Errors
    ///
    /// As [`Value::triangular_solve`].
    #[track_caller]
    pub fn solve_spd(&self, b: &Value) -> Value {
        build("solve_spd", &[Arg::Value(self), Arg::Value(b)], || {
            same_dtype(self, b)?;
            Ok(solve_spd(self, b)?.convert(self.dtype()))
        })
    }

    /// The inverse of a positive definite matrix, by its [`Value::cholesky`]. To solve equations, [`Value::solve_spd`] is
    /// faster and more exact.
    ///
    /// # Errors
    ///
    /// As [`Value::cholesky`].
    #[track_caller]
    pub fn inverse_spd(&self) -> Value {
        build("inverse_spd", &[Arg::Value(self)], || {
            square(self)?;
            let identity = Value::eye(self.dtype(), self.shape()[self.rank() - 1]);
            Ok(solve_spd(self, &identity)?.convert(self.dtype()))
        })
    }

    /// The logarithm of the determinant of a positive definite matrix, by its [`Value::cholesky`]; of complex matrices too
    /// it is a float. NaN where a matrix is not positive definite.
    ///
    /// # Errors
    ///
    /// As [`Value::cholesky`].
    #[track_caller]
    pub fn logdet_spd(&self) -> Value {
        build("logdet_spd", &[Arg::Value(self)], || {
            let diagonal = cholesky(self)?.diagonal();
            let diagonal = if diagonal.dtype().is_complex() { diagonal.real() } else { diagonal };
            let sum = diagonal.log().sum(-1).mul(2);
            Ok(if self.dtype().is_complex() { sum } else { sum.convert(self.dtype()) })
        })
    }
}

/// Whether a value has square matrices of a dtype that has square roots.
fn square(value: &Value) -> Result<(), Reason> {
    Takes::ANALYTIC.check(value.dtype())?;
    is_matrix(value)?;
    let matrix = &value.shape()[value.rank() - 2..];
    if matrix[0] != matrix[1] {
        return Err(format!("it takes a square matrix, not {}", shape_text(matrix)));
    }
    Ok(())
}

/// The triangle at a dtype of 32 bits at least.
fn cholesky(value: &Value) -> Result<Value, Reason> {
    square(value)?;
    let value = wide(value);
    if value.aval().len() == 0 {
        return Ok(value);
    }
    // Above the diagonal StableHLO leaves anything.
    let result = value.aval().clone();
    Ok(op("stablehlo.cholesky $0, lower = true", Types::Same, [&value], result).tril(0))
}

fn solve_spd(a: &Value, b: &Value) -> Result<Value, Reason> {
    let l = cholesky(a)?;
    let forward = TriangularOptions::default();
    let backward = TriangularOptions { transpose: Transpose::Adjoint, ..forward };
    with_columns(&wide(b), true, |b| solve(&l, &solve(&l, b, forward)?, backward))
}

/// What a solution gives for a vector as the right side, or for a matrix.
fn with_columns(
    b: &Value,
    as_column: bool,
    solution: impl FnOnce(&Value) -> Result<Value, Reason>,
) -> Result<Value, Reason> {
    let &[n] = b.shape() else { return solution(b) };
    let matrix = if as_column { [n, 1] } else { [1, n] };
    let x = solution(&b.reshape_to(&matrix)?)?;
    let batch = &x.shape()[..x.rank() - 2];
    x.reshape_to(&[batch, &[n]].concat())
}

/// The solution of a system with a square triangular matrix.
fn solve(a: &Value, b: &Value, options: TriangularOptions) -> Result<Value, Reason> {
    let TriangularOptions { left_side, lower, unit_diagonal, transpose } = options;
    let n = a.shape()[a.rank() - 1];
    is_matrix(b)?;
    let (b_batch, b_matrix) = b.shape().split_at(b.rank() - 2);
    let (what, size) = if left_side { ("rows", b_matrix[0]) } else { ("columns", b_matrix[1]) };
    if size != n {
        return Err(format!("the right side has {size} {what} for a matrix of size {n}"));
    }
    let batch = common_shape(&a.shape()[..a.rank() - 2], b_batch)?;
    let a = a.broadcast_to_shape(&[&batch[..], &[n, n]].concat())?;
    let b = b.broadcast_to_shape(&[&batch[..], b_matrix].concat())?;
    let transpose = match transpose {
        Transpose::No => "NO_TRANSPOSE",
        Transpose::Adjoint if a.dtype().is_complex() => "ADJOINT",
        _ => "TRANSPOSE",
    };
    let text = format!(
        "\"stablehlo.triangular_solve\"($0, $1) <{{left_side = {left_side}, lower = {lower}, \
         transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = {unit_diagonal}}}>"
    );
    let result = aval(b.dtype(), b.shape())?;
    Ok(if result.len() == 0 { b } else { op(text, Types::Function, [&a, &b], result) })
}

#[cfg(test)]
mod tests {
    use super::super::super::{Graph, Transpose, TriangularOptions, Value};
    use super::super::reduce::tests::{printed, refused};
    use crate::{Aval, DType};

    #[test]
    fn a_triangular_system_says_which_one_it_is() {
        let graph = Graph::new();
        let a = graph.input("a", &Aval::new(DType::F64, [2, 2]));
        let options = TriangularOptions { transpose: Transpose::Adjoint, ..TriangularOptions::default() };
        assert_eq!(
            printed(&graph, &a.triangular_solve(&a, options)),
            [
                "%0 = \"stablehlo.triangular_solve\"(%a, %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>",
            ]
        );
        let line = "stablehlo.cholesky %a, lower = true : tensor<2x2xf64>";
        assert!(printed(&graph, &a.cholesky()).iter().any(|printed| printed.ends_with(line)));
    }

    #[test]
    fn what_does_not_fit_a_system_is_refused() {
        let (a, b) = (Value::zeros(DType::F32, [4, 2, 2]), Value::zeros(DType::F32, [2, 3]));
        let options = TriangularOptions::default();
        let right = TriangularOptions { left_side: false, ..options };
        for (wrong, expected) in [
            (b.cholesky(), "`cholesky(f32[2,3])`: it takes a square matrix, not [2,3]"),
            (b.sum(0).cholesky(), "`cholesky(f32[3])`: it takes a matrix, not 1 dimension"),
            (
                a.convert(DType::I32).logdet_spd(),
                "`logdet_spd(i32[4,2,2])`: it takes floats or complex numbers, not i32; `convert` the value",
            ),
            (
                a.triangular_solve(&b, right),
                "`triangular_solve(f32[4,2,2], f32[2,3])`: the right side has 3 columns for a matrix of size 2",
            ),
            (
                a.solve_spd(&b.sum(0)),
                "`solve_spd(f32[4,2,2], f32[3])`: the right side has 3 rows for a matrix of size 2",
            ),
            (
                a.triangular_solve(&b.broadcast_to([3, 2, 3]), options),
                "`triangular_solve(f32[4,2,2], f32[3,2,3])`: [4] and [3] do not broadcast",
            ),
            (
                a.solve_spd(&Value::scalar(1f32)),
                "`solve_spd(f32[4,2,2], f32[])`: it takes a matrix, not 0 dimensions",
            ),
        ] {
            assert_eq!(refused(&wrong), expected);
        }
    }
}
