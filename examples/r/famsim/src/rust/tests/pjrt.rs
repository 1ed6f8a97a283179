//! What the families compute, on the default plugin, against closed forms.

// Arguments are lent as in other calls.
#![allow(missing_docs, clippy::needless_borrows_for_generic_args)]

#[path = "../src/bootstrap.rs"]
mod bootstrap;
#[path = "../src/key.rs"]
mod key;
#[path = "../src/options.rs"]
mod options;

use std::sync::LazyLock;

use bootstrap::{Bootstrap, Statistic};
use dispatch_runtime::prelude::*;
use key::RngKey;
use options::{Payoff, SimulateOptions, Simulated, Sums};

const SPOT: f64 = 100.0;
const RATE: f64 = 0.05;
const VOLATILITY: f64 = 0.2;
const MATURITY: f64 = 1.5;
const STRIKES: [f64; 3] = [80.0, 100.0, 130.0];

fn client() -> Client {
    Client::cpu().expect("the default plugin")
}

/// One for all tests, so that equal programs are compiled once.
fn simulator() -> &'static SimulateOptions {
    static FAMILY: LazyLock<SimulateOptions> = LazyLock::new(|| SimulateOptions::new(&client()));
    &FAMILY
}

fn key(seed: i64) -> Result<Array> {
    static FAMILY: LazyLock<RngKey> = LazyLock::new(|| RngKey::new(&client()));
    FAMILY.call(seed)
}

fn nothing_yet(seed: i64) -> Result<Sums<Array>> {
    let zeros = || client().array(&[0f64; 3], [3]);
    Ok(Sums { key: key(seed)?, paths: client().array(&[0f64], [])?, mean: zeros()?, squares: zeros()? })
}

fn simulate(sums: &Sums<Array>, paths: i64, dates: i64, payoff: Payoff) -> Result<Simulated<Array>> {
    simulator().call(sums, &STRIKES, SPOT, RATE, VOLATILITY, MATURITY, paths, dates, payoff)
}

fn numbers(array: &Array) -> Vec<f64> {
    array.to_vec().expect("an array of f64")
}

/// The distribution function of the normal distribution, by Simpson's rule.
fn normal_below(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let (from, steps) = (-10.0, 4000);
    let h = (x - from) / f64::from(steps);
    let weight = |i| if i == 0 || i == steps { 1.0 } else { f64::from(2 + i % 2 * 2) };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * h)).sum::<f64>() * h / 3.0
}

/// The price of a call on a price whose logarithm over `SPOT` is normal.
fn call(strike: f64, mean: f64, deviation: f64) -> f64 {
    let d = ((SPOT / strike).ln() + mean) / deviation;
    let forward = SPOT * (mean + deviation * deviation / 2.0).exp();
    (forward * normal_below(d + deviation) - strike * normal_below(d)) * (-RATE * MATURITY).exp()
}

fn black_scholes(strike: f64) -> f64 {
    call(strike, (RATE - VOLATILITY * VOLATILITY / 2.0) * MATURITY, VOLATILITY * MATURITY.sqrt())
}

/// Whether the prices are right within their errors, and the errors so small that this says something.
#[track_caller]
fn assert_prices(simulated: &Simulated<Array>, expected: impl Fn(f64) -> f64, most: f64) {
    let (prices, errors) = (numbers(&simulated.price), numbers(&simulated.standard_error));
    for ((strike, price), error) in STRIKES.into_iter().zip(&prices).zip(&errors) {
        let expected = expected(strike);
        assert!((price - expected).abs() < 4.0 * error, "{strike}: {price} ± {error}, not {expected}");
        assert!(*error > 0.0 && *error < most, "{strike}: {error}");
    }
}

#[test]
fn the_closed_form_of_the_tests_is_the_one_of_the_books() {
    // Hull, Options, Futures and Other Derivatives: 42, 40, 10 %, 20 %, half a year.
    let d = ((42.0f64 / 40.0).ln() + (0.1 + 0.02) * 0.5) / (0.2 * 0.5f64.sqrt());
    assert!((normal_below(d) - 0.7791).abs() < 5e-5);
    assert!((normal_below(0.0) - 0.5).abs() < 1e-12);
}

#[test]
fn calls_and_puts_have_the_prices_of_black_and_scholes() -> Result<()> {
    let calls = simulate(&nothing_yet(1)?, 200_000, 1, Payoff::Call)?;
    assert_prices(&calls, black_scholes, 0.1);
    let parity = |strike: f64| black_scholes(strike) - SPOT + strike * (-RATE * MATURITY).exp();
    assert_prices(&simulate(&nothing_yet(2)?, 200_000, 1, Payoff::Put)?, parity, 0.1);
    Ok(())
}

#[test]
fn more_dates_leave_a_call_as_it_is() -> Result<()> {
    assert_prices(&simulate(&nothing_yet(3)?, 100_000, 7, Payoff::Call)?, black_scholes, 0.1);
    Ok(())
}

/// The logarithm of the geometric mean is normal, too.
#[test]
fn asian_calls_have_the_price_of_their_closed_form() -> Result<()> {
    let m = 12.0;
    let mean = (RATE - VOLATILITY * VOLATILITY / 2.0) * MATURITY * (m + 1.0) / (2.0 * m);
    let variance = VOLATILITY * VOLATILITY * MATURITY * (m + 1.0) * (2.0 * m + 1.0) / (6.0 * m * m);
    let expected = |strike| call(strike, mean, variance.sqrt());
    assert_prices(&simulate(&nothing_yet(4)?, 100_000, 12, Payoff::AsianCall)?, expected, 0.1);
    Ok(())
}

#[test]
fn a_simulation_in_pieces_is_one_simulation() -> Result<()> {
    let pieces = 40;
    let (mut sums, mut piece_means) = (nothing_yet(5)?, Vec::new());
    let mut last = None;
    for _ in 0..pieces {
        let alone = Sums { key: client().array(&sums.key.to_vec::<u64>()?, [2])?, ..nothing_yet(0)? };
        piece_means.push(numbers(&simulate(&alone, 5000, 1, Payoff::Call)?.price));
        let step = simulate(&sums, 5000, 1, Payoff::Call)?;
        sums = step.sums;
        last = Some((step.price, step.standard_error));
    }
    let (price, error) = last.expect("there were pieces");
    assert_eq!(numbers(&sums.paths), [5000.0 * f64::from(pieces)]);
    for (i, price) in numbers(&price).into_iter().enumerate() {
        let mean = piece_means.iter().map(|piece| piece[i]).sum::<f64>() / f64::from(pieces);
        assert!((price - mean).abs() < 1e-10 * mean, "{price}, not {mean}");
    }
    // As many paths at once have the same error, but for chance.
    let at_once = simulate(&nothing_yet(6)?, 200_000, 1, Payoff::Call)?;
    for (error, at_once) in numbers(&error).into_iter().zip(numbers(&at_once.standard_error)) {
        assert!((error / at_once - 1.0).abs() < 0.05, "{error} {at_once}");
    }
    assert!(piece_means.windows(2).all(|two| two[0] != two[1]), "each piece has paths of its own");
    Ok(())
}

#[test]
fn sums_of_pieces_with_other_means_are_those_of_all_rows() -> Result<()> {
    let piece = |sums: &Sums<Array>, spot: f64| {
        simulator().call(sums, &STRIKES, spot, RATE, VOLATILITY, MATURITY, 5000, 1, Payoff::Call)
    };
    let first = piece(&nothing_yet(10)?, 100.0)?.sums;
    let alone = Sums { key: client().array(&first.key.to_vec::<u64>()?, [2])?, ..nothing_yet(0)? };
    let (mean, squares) = (numbers(&first.mean), numbers(&first.squares));
    let second = piece(&alone, 160.0)?.sums;
    let both = piece(&first, 160.0)?.sums;
    for i in 0..STRIKES.len() {
        let between = numbers(&second.mean)[i] - mean[i];
        let expected = squares[i] + numbers(&second.squares)[i] + between * between * 2500.0;
        let got = numbers(&both.squares)[i];
        assert!((got / expected - 1.0).abs() < 1e-12, "{got}, not {expected}");
        let expected = mean[i] + between / 2.0;
        assert!((numbers(&both.mean)[i] / expected - 1.0).abs() < 1e-12);
    }
    Ok(())
}

#[test]
fn a_key_decides_on_all_numbers() -> Result<()> {
    let price = |seed| Ok::<_, Error>(numbers(&simulate(&nothing_yet(seed)?, 5000, 1, Payoff::Call)?.price));
    assert_eq!(price(7)?, price(7)?);
    assert_ne!(price(7)?, price(8)?);
    Ok(())
}

#[test]
fn a_thousand_calls_compile_once_and_use_their_sums_up() -> Result<()> {
    let family = SimulateOptions::new(&client());
    let mut sums = nothing_yet(9)?;
    for i in 0..1000 {
        let volatility = 0.1 + 0.0001 * f64::from(i);
        let step = family.call(&sums, &STRIKES, SPOT, RATE, volatility, MATURITY, 100, 1, Payoff::Call)?;
        let used = std::mem::replace(&mut sums, step.sums);
        assert!(used.mean.to_vec::<f64>().is_err(), "the sums were given away");
    }
    assert_eq!(numbers(&sums.paths), [1e5]);
    let stats = family.stats();
    assert_eq!((stats.compiles, stats.hits), (1, 999));
    Ok(())
}

#[test]
fn wrong_counts_are_errors() -> Result<()> {
    let sums = nothing_yet(1)?;
    let message =
        |paths, dates| simulate(&sums, paths, dates, Payoff::Call).err().expect("an error").to_string();
    assert!(message(0, 1).contains("`paths` has to be 1 at least, not 0"));
    assert!(message(1, -1).contains("`dates` has to be 1 at least, not -1"));
    let two = simulator().call(
        &nothing_yet(1)?,
        &[90.0, 110.0],
        SPOT,
        RATE,
        VOLATILITY,
        MATURITY,
        100,
        1,
        Payoff::Put,
    );
    let two = two.err().expect("an error").to_string();
    assert!(two.contains("`sums` is of 3 strikes, and `strike` has 2"), "{two}");
    Ok(())
}

/// A sample, and what the bootstrap estimates in the limit of many replicates.
#[test]
fn bootstrap_errors_of_a_mean_are_those_of_theory() -> Result<()> {
    let x: Vec<f64> = (0..50).map(|i| f64::from(i * i % 37)).collect();
    let mean = x.iter().sum::<f64>() / 50.0;
    let theory = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 50.0 / 50.0).sqrt();
    let family = Bootstrap::new(&client());
    let resampled = family.call(&x, &key(1)?, 20_000, Statistic::Mean)?;
    assert!((numbers(&resampled.estimate)[0] - mean).abs() < 1e-12);
    // The standard deviation of 20 000 numbers is right to half a percent.
    assert!((numbers(&resampled.standard_error)[0] / theory - 1.0).abs() < 0.02);
    assert_eq!(resampled.replicates.shape(), [20_000]);

    let again = family.call(&x, &key(1)?, 20_000, Statistic::Mean)?;
    assert_eq!(numbers(&again.replicates), numbers(&resampled.replicates));
    let next = family.call(&x, &resampled.key, 20_000, Statistic::Mean)?;
    assert_ne!(numbers(&next.replicates), numbers(&resampled.replicates));
    Ok(())
}

/// The replicates' medians are elements of an odd sample, with binomial probabilities.
#[test]
fn bootstrap_medians_have_their_distribution() -> Result<()> {
    let family = Bootstrap::new(&client());
    let resampled = family.call(&[1.0, 5.0, 2.0], &key(2)?, 30_000, Statistic::Median)?;
    assert_eq!(numbers(&resampled.estimate), [2.0]);
    let replicates = numbers(&resampled.replicates);
    let share = |value| replicates.iter().filter(|x| **x == value).count() as f64 / 30_000.0;
    // The median of three is the least if two or three of them are: 3 * 2 / 27 + 1 / 27.
    assert!((share(1.0) - 7.0 / 27.0).abs() < 0.015);
    assert!((share(5.0) - 7.0 / 27.0).abs() < 0.015);
    assert!((share(2.0) - 13.0 / 27.0).abs() < 0.015);
    let even = family.call(&[4.0, 1.0, 3.0, 2.0], &key(2)?, 10, Statistic::Median)?;
    assert_eq!(numbers(&even.estimate), [2.5]);
    Ok(())
}

#[test]
fn bootstrap_deviations_are_those_of_r() -> Result<()> {
    let family = Bootstrap::new(&client());
    let resampled = family.call(&[1.0, 2.0, 6.0], &key(3)?, 100, Statistic::Sd)?;
    assert!((numbers(&resampled.estimate)[0] - 7f64.sqrt()).abs() < 1e-14);
    Ok(())
}
