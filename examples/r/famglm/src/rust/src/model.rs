//! The two models: how a mean belongs to a linear predictor, and how far a mean is from a response.

use std::error::Error;

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;

/// What a body may fail with: its message is that of the error in R.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The distribution of the responses, with its canonical link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, StaticArg)]
pub enum Family {
    /// Shares of successes, of as many trials as the weights say; the link is the logit.
    Binomial,
    /// Counts; the link is the logarithm.
    Poisson,
}

impl Family {
    /// The mean that a fit starts from: that of `stats::binomial()` and `stats::poisson()`.
    pub fn first_mean(self, y: &Value, weights: &Value) -> Value {
        match self {
            Family::Binomial => (weights * y + 0.5) / (weights + 1.0),
            Family::Poisson => y + 0.1,
        }
    }

    /// The linear predictor of a mean.
    pub fn link(self, mean: &Value) -> Value {
        match self {
            Family::Binomial => (mean / (1.0 - mean)).log(),
            Family::Poisson => mean.log(),
        }
    }

    /// The mean of a linear predictor.
    pub fn mean(self, eta: &Value) -> Value {
        match self {
            Family::Binomial => eta.logistic(),
            Family::Poisson => eta.exp(),
        }
    }

    /// The variance of a response with this linear predictor, which for a canonical link is also the derivative of the
    /// mean. Not made of the mean, which rounds to 1 where the variance is not yet 0.
    pub fn variance_at(self, eta: &Value) -> Value {
        match self {
            Family::Binomial => eta.logistic() * (-eta).logistic(),
            Family::Poisson => eta.exp(),
        }
    }

    /// The variance of a response with this mean.
    pub fn variance(self, mean: &Value) -> Value {
        match self {
            Family::Binomial => mean * (1.0 - mean),
            Family::Poisson => mean.clone(),
        }
    }

    /// Twice the log-likelihood that a response loses by having this linear predictor and not one of its own.
    ///
    /// With the logarithms of the mean taken from the linear predictor, it is exact for means near 0 and 1.
    pub fn deviance_at(self, y: &Value, eta: &Value) -> Value {
        let lost = match self {
            Family::Binomial => x_log_x(y) + x_log_x(&(1.0 - y)) + eta.softplus() - y * eta,
            Family::Poisson => x_log_x(y) - y * eta - (y - eta.exp()),
        };
        lost * 2.0
    }

    /// The same of a mean: exact for a mean near the response.
    pub fn deviance(self, y: &Value, mean: &Value) -> Value {
        let lost = match self {
            Family::Binomial => x_log_ratio(y, mean) + x_log_ratio(&(1.0 - y), &(1.0 - mean)),
            Family::Poisson => x_log_ratio(y, mean) - (y - mean),
        };
        lost * 2.0
    }
}

/// `x log(x)`, which is 0 for 0.
fn x_log_x(x: &Value) -> Value {
    x_log_ratio(x, &Value::ones(x.dtype(), x.shape()))
}

/// `x log(x / y)`, which is 0 for `x = 0`.
fn x_log_ratio(x: &Value, y: &Value) -> Value {
    x.gt(0.0).select(x * (x / y).log(), 0.0)
}

/// An argument that is one number for all of `n` rows or one for each, as one for each.
pub fn for_each_row(name: &str, value: Value, n: i64) -> Result<Value, Failure> {
    match *value.shape() {
        [] => Ok(value.broadcast_to([n])),
        [m] if m == n => Ok(value),
        [m] => Err(format!("`{name}` has to be one number or a vector of {n}, not of {m}").into()),
        _ => Err(format!("`{name}` has to be one number or a vector of {n}, not a matrix").into()),
    }
}
