//! Ridge regression.

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;

/// A ridge regression for each penalty.
#[derive(OutputTree)]
pub struct Ridge<T> {
    /// The intercepts, one for each penalty.
    pub intercept: T,
    /// The coefficients, a row for each penalty.
    pub coefficients: T,
    /// The effective numbers of coefficients, without the intercept.
    pub df: T,
    /// The sums of squared residuals.
    pub rss: T,
    /// The generalised cross-validation scores: the least one marks the penalty to take.
    pub gcv: T,
}

/// Ridge regression for many penalties at once
///
/// The intercept is not penalised, and the penalty of a coefficient does not depend on the unit of its column: `y` and the
/// columns of `x` are centred, the columns are scaled to variance 1 (with `n` as the divisor), and for each `lambda`
/// the sum of squared residuals plus `lambda` times the sum of squared coefficients is the least. The coefficients
/// that come back are those of the columns as they were given. This is `MASS::lm.ridge()`, by a Cholesky
/// decomposition.
///
/// # Examples
///
/// ```r
/// x <- as.matrix(longley[names(longley) != "Employed"])
/// lambda <- c(0, 0.001, 0.01, 0.1)
/// fit <- ridge_fit(x, longley$Employed, lambda)
/// b <- as.matrix(fit$coefficients)
/// dimnames(b) <- list(lambda, colnames(x))
/// b
/// ```
#[dispatch_family(capacity = 32, r_export)]
pub fn ridge_fit(
    cx: &CompileCx,
    /// The columns to regress on, without one for the intercept.
    #[dynamic(dtype = [f64, f32], shape = [n, p])]
    x: Value,
    /// The responses.
    #[dynamic(dtype = dtype(x), shape = [n])]
    y: Value,
    /// The penalties.
    #[dynamic(dtype = dtype(x), shape = [penalties])]
    lambda: Value,
) -> Result<Program<Ridge<Array>>> {
    let (centre, mean) = (x.mean(0), y.mean(..));
    let centred = &x - &centre;
    let scale = centred.square().mean(0).sqrt();
    let (x, y) = ((centred / &scale).named("x_scaled"), y - &mean);

    let products = x.t().matmul(&x).named("products");
    let diagonal = Value::eye(x.dtype(), p) * lambda.reshape([penalties, 1, 1]);
    // A matrix for each penalty, and two right-hand sides for each matrix: t(x) y and t(x) x.
    let penalised = (&products + diagonal).named("penalised");
    let scaled = penalised.solve_spd(&x.t().matmul(&y).expand_dims(1).broadcast_to([penalties, p, 1]));
    let scaled = scaled.squeeze(-1).named("scaled");
    let hat = penalised.solve_spd(&products.broadcast_to([penalties, p, p]));

    let coefficients = (&scaled / &scale).named("coefficients");
    let rss = (y.expand_dims(1) - x.matmul(&scaled.t())).square().sum(0);
    let df = hat.diagonal().sum(-1);
    cx.program(Ridge {
        intercept: mean - coefficients.matmul(&centre),
        gcv: &rss / (n as f64 - &df).square(),
        coefficients,
        df,
        rss,
    })
}
