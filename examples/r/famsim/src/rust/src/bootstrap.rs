//! The bootstrap.

use std::error::Error;

use dispatch_runtime::graph::{Key, Value};
use dispatch_runtime::prelude::*;

type Failure = Box<dyn Error + Send + Sync>;

/// What is computed of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, StaticArg)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The median.
    Median,
    /// The standard deviation, with `n - 1` as the divisor.
    Sd,
}

impl Statistic {
    /// That of each row.
    fn of_rows(self, rows: &Value) -> Value {
        let n = rows.shape()[1];
        match self {
            Statistic::Mean => rows.mean(1),
            Statistic::Median => {
                let middle = rows.sort(1).slice_axis(1, (n - 1) / 2, n / 2 + 1);
                middle.mean(1)
            }
            Statistic::Sd => rows.std(1, 1),
        }
    }
}

/// What resampling gives.
#[derive(OutputTree)]
pub struct Resampled<T> {
    /// The statistic of the sample itself.
    pub estimate: T,
    /// Its standard error: the standard deviation of the replicates.
    pub standard_error: T,
    /// The statistic of each resample.
    pub replicates: T,
    /// A new key, for the next call.
    pub key: T,
}

/// The bootstrap
///
/// Draws samples from one sample, with replacement, and computes a statistic of each: its spread is the error of the
/// statistic.
///
/// # Examples
///
/// ```r
/// b <- bootstrap(mtcars$mpg, rng_key(1L), statistic = "median")
/// as.vector(b$estimate)
/// as.vector(b$standard_error)
/// quantile(as.vector(b$replicates), c(0.025, 0.975))
/// ```
#[dispatch_family(capacity = 32, r_export)]
pub fn bootstrap(
    cx: &CompileCx,
    /// The sample.
    #[dynamic(dtype = [f64, f32], shape = [n])]
    x: Value,
    /// The key of the random numbers, from `rng_key()` or from a call before.
    #[dynamic(dtype = u64, shape = [2])]
    key: Value,
    /// How many resamples to draw.
    #[static_arg(default = 1000)]
    replicates: i64,
    /// What is computed of a sample.
    #[static_arg(default = Statistic::Mean)]
    statistic: Statistic,
) -> Result<Program<Resampled<Array>>, Failure> {
    if replicates < 2 {
        return Err(format!("`replicates` has to be 2 at least, not {replicates}").into());
    }
    if n < 2 {
        return Err(format!("`x` has to have 2 elements at least, not {n}").into());
    }
    let (now, next) = Key::from_data(&key).split();
    let chosen = now.uniform(DType::I64, [replicates * n], 0, n);
    let resamples = x.take(&chosen, 0).reshape([replicates, n]).named("resamples");
    let replicates = statistic.of_rows(&resamples);
    Ok(cx.program(Resampled {
        estimate: statistic.of_rows(&x.expand_dims(0)).squeeze(0),
        standard_error: replicates.std(.., 1),
        replicates,
        key: next.data().clone(),
    })?)
}
