//! Prices of options by Monte-Carlo.

use std::error::Error;

use dispatch_runtime::graph::{fori, Key, Value};
use dispatch_runtime::prelude::*;

type Failure = Box<dyn Error + Send + Sync>;

/// What an option pays at maturity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, StaticArg)]
pub enum Payoff {
    /// What the price is above the strike.
    Call,
    /// What the price is below the strike.
    Put,
    /// What the geometric mean of the prices at the dates is above the strike.
    AsianCall,
}

/// A simulation so far. It goes into a call and comes out of it, in the same memory.
#[derive(InputTree, OutputTree)]
pub struct Sums<T> {
    /// The key of the random numbers to come.
    #[dynamic(dtype = u64, shape = [2], donate)]
    pub key: T,
    /// How many paths there were.
    #[dynamic(dtype = f64, shape = [], donate)]
    pub paths: T,
    /// The mean of the discounted payoffs, for each strike.
    #[dynamic(dtype = f64, shape = [strikes], donate)]
    pub mean: T,
    /// The sum of their squared differences from the mean.
    #[dynamic(dtype = f64, shape = [strikes], donate)]
    pub squares: T,
}

/// What a call gives.
#[derive(OutputTree)]
pub struct Simulated<T> {
    /// The simulation with the new paths: the argument of the next call.
    pub sums: Sums<T>,
    /// The price of each option, from all paths so far.
    pub price: T,
    /// The standard errors of the prices.
    pub standard_error: T,
}

/// Simulate options on more paths of a price
///
/// The price moves as in the model of Black and Scholes. Options of all strikes are priced on the same paths. `sums` is used
/// up by the call: its memory holds the sums that come back.
///
/// # Examples
///
/// ```r
/// sums <- new_sums(seed = 1L, strikes = 2)
/// for (i in 1:20) {
///   step <- simulate_options(
///     sums, strike = c(95, 105), spot = 100, rate = 0.05, volatility = 0.2, maturity = 1, paths = 10000L
///   )
///   sums <- step$sums
/// }
/// as.vector(step$price)
/// as.vector(step$standard_error)
/// black_scholes(c(95, 105), spot = 100, rate = 0.05, volatility = 0.2, maturity = 1)
///
/// # One program for all calls.
/// pjrtdispatch::family_stats(simulate_options)
/// ```
#[dispatch_family(capacity = 32, r_export)]
#[allow(clippy::too_many_arguments)] // they are those of the R function
pub fn simulate_options(
    cx: &CompileCx,
    /// The simulation so far: `new_sums()`, or the `sums` of the call before.
    #[dynamic]
    sums: Sums<Value>,
    /// The strikes of the options.
    #[dynamic(dtype = f64, shape = [options])]
    strike: Value,
    /// The price today.
    #[dynamic(dtype = f64, shape = [])]
    spot: Value,
    /// The interest rate per year, compounded continuously.
    #[dynamic(dtype = f64, shape = [])]
    rate: Value,
    /// The volatility per square root of a year.
    #[dynamic(dtype = f64, shape = [])]
    volatility: Value,
    /// The years to maturity.
    #[dynamic(dtype = f64, shape = [])]
    maturity: Value,
    /// How many paths to add.
    #[static_arg(default = 10000)]
    paths: i64,
    /// How many dates a path has, evenly spaced, the last one at maturity. Only an Asian option needs more than one.
    #[static_arg(default = 1)]
    dates: i64,
    /// What the options pay.
    #[static_arg(default = Payoff::Call)]
    payoff: Payoff,
) -> Result<Program<Simulated<Array>>, Failure> {
    for (name, number) in [("paths", paths), ("dates", dates)] {
        if number < 1 {
            return Err(format!("`{name}` has to be 1 at least, not {number}").into());
        }
    }
    if sums.mean.shape() != [options] {
        let strikes = sums.mean.shape()[0];
        return Err(format!("`sums` is of {strikes} strikes, and `strike` has {options}").into());
    }

    let (now, next) = Key::from_data(&sums.key).split();
    // The logarithm of each path's price over the one today, and its sum over the dates.
    let interval = &maturity / dates;
    let drift = (&rate - volatility.square() / 2.0) * &interval;
    let deviation = &volatility * interval.sqrt();
    let zeros = Value::zeros(DType::F64, [paths]);
    let (last, sum) = fori(0, dates, (zeros.clone(), zeros), |date, (log, sum)| {
        let log = log + &drift + &deviation * now.fold_in(date).normal(DType::F64, [paths]);
        (log.clone(), sum + log)
    });

    let price = |log: Value| (spot * log.exp()).expand_dims(1);
    let paid = match payoff {
        Payoff::Call => (price(last) - strike).maximum(0.0),
        Payoff::Put => (strike - price(last)).maximum(0.0),
        Payoff::AsianCall => (price(sum / dates) - strike).maximum(0.0),
    };
    let discount = (-rate * maturity).exp();
    let sums = sums.add(&(paid * discount).named("discounted"), next);
    let variance = &sums.squares / (&sums.paths - 1.0).maximum(0.0);
    Ok(cx.program(Simulated {
        price: sums.mean.clone(),
        standard_error: (variance / &sums.paths).sqrt(),
        sums,
    })?)
}

impl Sums<Value> {
    /// With one more row for each path, by the formula of Chan, Golub and LeVeque, which loses no digits as sums of squares
    /// do.
    fn add(self, rows: &Value, key: Key) -> Sums<Value> {
        let added = rows.shape()[0] as f64;
        let mean = rows.mean(0);
        let squares = (rows - &mean).square().sum(0);
        let (paths, moved) = (&self.paths + added, mean - &self.mean);
        Sums {
            key: key.data().clone(),
            mean: self.mean + &moved * (added / &paths),
            squares: self.squares + squares + moved.square() * (self.paths * (added / &paths)),
            paths,
        }
    }
}
