//! What is asked of a fit: predictions and residuals.

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;

use crate::model::{for_each_row, Failure, Family};

/// The scale of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, StaticArg)]
pub enum Scale {
    /// That of the linear predictor.
    Link,
    /// That of the responses.
    Response,
}

/// Which residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, StaticArg)]
pub enum Residual {
    /// The signed square root of what the row adds to the deviance.
    Deviance,
    /// The response minus the mean, over the standard deviation of the response.
    Pearson,
    /// The response minus the mean.
    Response,
    /// The response minus the mean, on the scale of the linear predictor.
    Working,
}

/// Predictions for rows of a design matrix.
#[derive(OutputTree)]
pub struct Prediction<T> {
    /// The predictions.
    pub fit: T,
    /// Their standard errors.
    pub standard_errors: T,
}

/// Predictions from the coefficients of a fit
///
/// Predictions for any rows of a design matrix, with their standard errors.
///
/// # Examples
///
/// ```r
/// x <- cbind(1, mtcars$wt)
/// fit <- logistic_fit(x, mtcars$am, weights = 1, offset = 0)
///
/// # The chance of a manual gear box, for cars of 2 and of 4 thousand pounds.
/// new <- cbind(1, c(2, 4))
/// glm_predict(new, fit$coefficients, fit$covariance, offset = 0, family = "binomial")
/// ```
#[dispatch_family(capacity = 64, r_export)]
pub fn glm_predict(
    cx: &CompileCx,
    /// The design matrix of the rows to predict.
    #[dynamic(dtype = [f64, f32], shape = [n, p])]
    x: Value,
    /// The coefficients of the fit.
    #[dynamic(dtype = dtype(x), shape = [p])]
    coefficients: Value,
    /// Their covariance matrix.
    #[dynamic(dtype = dtype(x), shape = [p, p])]
    covariance: Value,
    /// A known part of the linear predictor: one for all rows, or one for each.
    #[dynamic(dtype = dtype(x), shape = [..])]
    offset: Value,
    /// The distribution of the responses.
    #[static_arg]
    family: Family,
    /// The scale of the predictions.
    #[static_arg(default = Scale::Response)]
    r#type: Scale,
) -> Result<Program<Prediction<Array>>, Failure> {
    let eta = x.matmul(&coefficients) + for_each_row("offset", offset, n)?;
    // The diagonal of x V t(x), without the rest of it.
    let standard_errors = (x.matmul(&covariance) * &x).sum(1).sqrt();
    Ok(cx.program(match r#type {
        Scale::Link => Prediction { fit: eta, standard_errors },
        Scale::Response => {
            Prediction { fit: family.mean(&eta), standard_errors: standard_errors * family.variance_at(&eta) }
        }
    })?)
}

/// Residuals of a fit
///
/// How far the responses are from the fitted means, in one of four ways.
///
/// # Examples
///
/// ```r
/// x <- model.matrix(~ wool + tension, warpbreaks)
/// fit <- poisson_fit(x, warpbreaks$breaks, weights = 1, offset = 0)
/// r <- glm_residuals(warpbreaks$breaks, fit$fitted, weights = 1, family = "poisson")
/// sum(as.vector(r)^2) # the deviance
/// as.vector(fit$deviance)
/// ```
#[dispatch_family(capacity = 64, r_export)]
pub fn glm_residuals(
    cx: &CompileCx,
    /// The responses.
    #[dynamic(dtype = [f64, f32], shape = [n])]
    y: Value,
    /// The fitted means.
    #[dynamic(like(y))]
    fitted: Value,
    /// The weights of the fit: one for all rows, or one for each.
    #[dynamic(dtype = dtype(y), shape = [..])]
    weights: Value,
    /// The distribution of the responses.
    #[static_arg]
    family: Family,
    /// Which residuals.
    #[static_arg(default = Residual::Deviance)]
    r#type: Residual,
) -> Result<Program, Failure> {
    let weights = for_each_row("weights", weights, n)?;
    let difference = &y - &fitted;
    Ok(cx.program(match r#type {
        // Rounding makes what is almost 0 negative.
        Residual::Deviance => {
            difference.sign() * (weights * family.deviance(&y, &fitted)).maximum(0.0).sqrt()
        }
        Residual::Pearson => difference * (weights / family.variance(&fitted)).sqrt(),
        Residual::Response => difference,
        Residual::Working => difference / family.variance(&fitted),
    })?)
}
