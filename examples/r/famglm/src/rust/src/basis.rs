//! A basis for the columns of a design matrix.

use dispatch_runtime::graph::{Transpose, TriangularOptions, Value};

/// The columns of a design matrix as combinations that are nearly orthogonal.
///
/// Newton's method squares the condition number of the design matrix, which costs twice the digits. In this basis it is
/// near 1, so that what is lost is what the least squares of `lm()` lose.
pub struct Basis {
    /// The columns of the basis, `x back`: `[n, p]`.
    pub columns: Value,
    /// An upper triangle: `back c` are the coefficients on the columns of `x` that belong to `c` on those of the basis.
    pub back: Value,
    /// The smallest share of a column's squared length that the columns before it do not explain; NaN where one is
    /// nothing but a combination of others.
    pub independence: Value,
}

impl Basis {
    /// That of the columns of `x`, where the rows count by their weights.
    pub fn new(x: &Value, weights: &Value) -> Basis {
        let products = x.t().matmul(&(weights.expand_dims(1) * x)).named("products");
        let lengths = products.diagonal().sqrt();
        let correlations = &products / lengths.outer(&lengths);
        let lower = correlations.cholesky().named("lower");
        let identity = Value::eye(x.dtype(), x.shape()[1]);
        let inverse = lower.triangular_solve(
            &identity,
            TriangularOptions { transpose: Transpose::Yes, ..Default::default() },
        );
        let back = (inverse / lengths.expand_dims(1)).named("back");
        Basis {
            columns: x.matmul(&back).named("basis"),
            back,
            independence: lower.diagonal().square().min(..),
        }
    }
}
