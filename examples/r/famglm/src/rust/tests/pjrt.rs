//! What the families compute, on the default plugin, against closed forms.

// Arguments are lent as in other calls.
#![allow(missing_docs, clippy::needless_borrows_for_generic_args)]

#[path = "../src/after.rs"]
mod after;
#[path = "../src/basis.rs"]
mod basis;
#[path = "../src/model.rs"]
mod model;
#[path = "../src/newton.rs"]
mod newton;
#[path = "../src/ridge.rs"]
mod ridge;

use std::sync::LazyLock;

use after::{GlmPredict, GlmResiduals, Residual, Scale};
use dispatch_runtime::prelude::*;
use model::Family;
use newton::{Fit, LogisticFit, PoissonFit};
use ridge::RidgeFit;

fn client() -> Client {
    Client::cpu().expect("the default plugin")
}

/// One for all tests, so that equal programs are compiled once.
fn logistic() -> &'static LogisticFit {
    static FAMILY: LazyLock<LogisticFit> = LazyLock::new(|| LogisticFit::new(&client()));
    &FAMILY
}

fn numbers(array: &Array) -> Vec<f64> {
    array.to_vec().expect("an array of f64")
}

#[track_caller]
fn assert_close(got: &Array, expected: &[f64], tolerance: f64) {
    let got = numbers(got);
    assert_eq!(got.len(), expected.len(), "{got:?}");
    for (got_one, expected_one) in got.iter().zip(expected) {
        let least = tolerance * expected_one.abs().max(1.0);
        assert!((got_one - expected_one).abs() <= least, "{got:?}, not {expected:?}");
    }
}

/// Two groups: 3 of 10 successes and 12 of 15, as 0 and 1.
fn two_groups() -> (Vec<f64>, Vec<f64>) {
    let rows = [(0.0, 3, 10), (1.0, 12, 15)];
    let group = |(x, yes, all)| (0..all).map(move |i| ([1.0, x], f64::from(u8::from(i < yes))));
    let (x, y): (Vec<[f64; 2]>, Vec<f64>) = rows.into_iter().flat_map(group).unzip();
    (x.concat(), y)
}

/// The log-odds of the groups, their standard errors and the deviance, by hand.
fn expected_of_two_groups() -> ([f64; 2], [f64; 2], f64) {
    let odds = [3.0 / 7.0, 12.0 / 3.0f64];
    let variance = [1.0 / 3.0 + 1.0 / 7.0, 1.0 / 12.0 + 1.0 / 3.0f64];
    let log_likelihood = |yes: f64, no: f64| yes * (yes / (yes + no)).ln() + no * (no / (yes + no)).ln();
    (
        [odds[0].ln(), (odds[1] / odds[0]).ln()],
        [variance[0].sqrt(), (variance[0] + variance[1]).sqrt()],
        -2.0 * (log_likelihood(3.0, 7.0) + log_likelihood(12.0, 3.0)),
    )
}

#[track_caller]
fn assert_two_groups(fit: &Fit<Array>, tolerance: f64) {
    let (coefficients, errors, deviance) = expected_of_two_groups();
    assert_close(&fit.coefficients, &coefficients, tolerance);
    assert_close(&fit.standard_errors, &errors, tolerance);
    assert_close(&fit.deviance, &[deviance], tolerance);
    assert_eq!(fit.converged.to_vec::<bool>().unwrap(), [true]);
}

#[test]
fn a_logistic_fit_of_two_groups_gives_their_odds() -> Result<()> {
    let (x, y) = two_groups();
    let fit = logistic().call((&x, [25, 2]), &y, 1.0, 0.0, 1e-14, 25)?;
    assert_two_groups(&fit, 1e-12);
    assert_close(&fit.fitted, &[[0.3; 10].as_slice(), &[0.8; 15]].concat(), 1e-12);
    let covariance = numbers(&fit.covariance);
    assert!((covariance[1] + 1.0 / 3.0 + 1.0 / 7.0).abs() < 1e-12, "{covariance:?}");
    assert_eq!(covariance[1], covariance[2]);
    Ok(())
}

#[test]
fn shares_with_trials_as_weights_are_the_rows_one_by_one() -> Result<()> {
    let family = logistic();
    let fit = family.call((&[1.0, 0.0, 1.0, 1.0], [2, 2]), &[0.3, 0.8], &[10.0, 15.0], 0.0, 1e-14, 25)?;
    // The deviance is that against a mean for each group: nothing is missing.
    assert_close(&fit.deviance, &[0.0], 1e-12);
    let (coefficients, errors, _) = expected_of_two_groups();
    assert_close(&fit.coefficients, &coefficients, 1e-12);
    assert_close(&fit.standard_errors, &errors, 1e-12);
    Ok(())
}

#[test]
fn rows_of_weight_0_do_not_count() -> Result<()> {
    let (mut x, mut y) = two_groups();
    let mut weights = vec![1.0; 25];
    x.extend([1.0, 50.0, 1.0, -50.0]);
    y.extend([0.0, 1.0]);
    weights.extend([0.0, 0.0]);
    let fit = logistic().call((&x, [27, 2]), &y, &weights, 0.0, 1e-14, 25)?;
    assert_two_groups(&fit, 1e-11);
    Ok(())
}

#[test]
fn an_offset_moves_the_intercept() -> Result<()> {
    let (x, y) = two_groups();
    let family = logistic();
    let (expected, _, _) = expected_of_two_groups();
    let fit = family.call((&x, [25, 2]), &y, 1.0, 0.7, 1e-14, 25)?;
    assert_close(&fit.coefficients, &[expected[0] - 0.7, expected[1]], 1e-12);
    let each: Vec<f64> = x.chunks(2).map(|row| 0.7 - 0.2 * row[1]).collect();
    let fit = family.call((&x, [25, 2]), &y, 1.0, &each, 1e-14, 25)?;
    assert_close(&fit.coefficients, &[expected[0] - 0.7, expected[1] + 0.2], 1e-12);
    Ok(())
}

#[test]
fn a_poisson_fit_of_two_groups_gives_their_means() -> Result<()> {
    let client = client();
    let x = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let y = [0.0, 2.0, 7.0, 20.0, 12.0];
    let fit = PoissonFit::new(&client).call((&x, [5, 2]), &y, 1.0, 0.0, 1e-14, 25)?;
    assert_close(&fit.coefficients, &[3f64.ln(), (16f64 / 3.0).ln()], 1e-12);
    // The information is that of the last step's start, as in `glm()`.
    assert_close(&fit.standard_errors, &[(1.0 / 9.0f64).sqrt(), (1.0 / 9.0 + 1.0 / 32.0f64).sqrt()], 1e-9);
    let lost = |y: f64, mean: f64| if y > 0.0 { y * (y / mean).ln() } else { 0.0 } - (y - mean);
    let means = [3.0, 3.0, 3.0, 16.0, 16.0];
    let deviance: f64 = y.iter().zip(means).map(|(&y, mean)| 2.0 * lost(y, mean)).sum();
    assert_close(&fit.deviance, &[deviance], 1e-12);
    assert_close(&fit.fitted, &means, 1e-12);
    Ok(())
}

/// A polynomial far from the origin: the condition number of the columns, scaled, is 10^7.
#[test]
fn columns_that_nearly_depend_on_each_other_cost_few_digits() -> Result<()> {
    let client = client();
    let at: Vec<f64> = (0..20).map(f64::from).collect();
    let mean = |t: f64| (2.0 + 0.01 * (t - 10.0) * (t - 10.0)).exp();
    let y: Vec<f64> = at.iter().map(|&t| mean(t)).collect();
    let x: Vec<f64> = at.iter().flat_map(|&t| [1.0, t + 1000.0, (t + 1000.0) * (t + 1000.0)]).collect();
    let fit = PoissonFit::new(&client).call((&x, [20, 3]), &y, 1.0, 0.0, 1e-14, 25)?;
    // 2 + 0.01 (u - 1010)^2
    assert_close(&fit.coefficients, &[2.0 + 0.01 * 1010.0 * 1010.0, -0.01 * 2020.0, 0.01], 1e-6);
    assert_close(&fit.fitted, &y, 1e-9);
    let independence = numbers(&fit.independence)[0];
    assert!(independence > 1e-12 && independence < 1e-6, "{independence:e}");
    Ok(())
}

#[test]
fn a_column_made_of_others_is_told() -> Result<()> {
    let (x, y) = two_groups();
    let family = logistic();
    let twice: Vec<f64> = x.chunks(2).flat_map(|row| [row[0], row[1], 3.0 * row[0] - 0.1 * row[1]]).collect();
    let none: Vec<f64> = x.chunks(2).flat_map(|row| [row[0], row[1], 0.0]).collect();
    for x in [twice, none] {
        let fit = family.call((&x, [25, 3]), &y, 1.0, 0.0, 1e-8, 25)?;
        let independence = numbers(&fit.independence)[0];
        assert!(independence.is_nan() || independence < 1e-12, "{independence:e}");
    }
    Ok(())
}

#[test]
fn the_steps_end_where_they_are_told_to() -> Result<()> {
    let (x, y) = two_groups();
    let family = LogisticFit::new(&client());
    let steps = |epsilon, most| -> Result<(i32, bool)> {
        let fit = family.call((&x, [25, 2]), &y, 1.0, 0.0, epsilon, most)?;
        Ok((fit.iterations.to_vec::<i32>()?[0], fit.converged.to_vec::<bool>()?[0]))
    };
    assert_eq!(steps(1e-8, 2)?, (2, false));
    let (many, converged) = steps(1e-14, 25)?;
    let (few, _) = steps(1e-2, 25)?;
    assert!(converged && few < many && many < 10, "{few} {many}");
    assert_eq!(family.stats().compiles, 3);
    Ok(())
}

#[test]
fn a_fit_that_cannot_converge_ends() -> Result<()> {
    let client = client();
    // A count of 1e300 overflows on the way.
    let fit = PoissonFit::new(&client).call(
        (&[1.0, 0.0, 1.0, 1.0], [2, 2]),
        &[0.0, f64::INFINITY],
        1.0,
        0.0,
        1e-8,
        25,
    )?;
    assert_eq!(fit.converged.to_vec::<bool>()?, [false]);
    Ok(())
}

#[test]
fn wrong_controls_and_lengths_are_errors() {
    let (x, y) = two_groups();
    let family = logistic();
    let message = |weights: &[f64], epsilon, most| {
        let outcome = family.call((&x, [25, 2]), &y, weights, 0.0, epsilon, most);
        outcome.err().expect("an error").to_string()
    };
    let all = [1.0; 25];
    assert!(message(&all, -1.0, 25).contains("`epsilon` has to be a number above 0, not -1"));
    assert!(message(&all, f64::NAN, 25).contains("`epsilon`"));
    assert!(message(&all, 1e-8, 0).contains("`max_iterations` has to be 1 at least, not 0"));
    let weights = message(&all[..3], 1e-8, 25);
    assert!(weights.contains("`weights` has to be one number or a vector of 25"), "{weights}");
}

#[test]
fn f32_arrays_are_fitted_in_f32() -> Result<()> {
    let client = client();
    let (x, y) = two_groups();
    let x: Vec<f32> = x.into_iter().map(|x| x as f32).collect();
    let x = client.array(&x, [25, 2])?;
    let fit = logistic().call(&x, &y, 1.0, 0.0, 1e-5, 25)?;
    let coefficients = fit.coefficients.to_vec::<f32>()?;
    let (expected, _, _) = expected_of_two_groups();
    assert!((f64::from(coefficients[1]) - expected[1]).abs() < 1e-4, "{coefficients:?}");
    Ok(())
}

#[test]
fn predictions_are_those_of_the_groups() -> Result<()> {
    let client = client();
    let (x, y) = two_groups();
    let fit = logistic().call((&x, [25, 2]), &y, 1.0, 0.0, 1e-14, 25)?;
    let family = GlmPredict::new(&client);
    let predict = |scale| {
        family.call(
            (&[1.0, 1.0, 1.0, 0.0], [2, 2]),
            &fit.coefficients,
            &fit.covariance,
            0.0,
            Family::Binomial,
            scale,
        )
    };
    let errors = [(1.0 / 12.0 + 1.0 / 3.0f64).sqrt(), (1.0 / 3.0 + 1.0 / 7.0f64).sqrt()];
    let link = predict(Scale::Link)?;
    assert_close(&link.fit, &[4f64.ln(), (3.0 / 7.0f64).ln()], 1e-12);
    assert_close(&link.standard_errors, &errors, 1e-12);
    let response = predict(Scale::Response)?;
    assert_close(&response.fit, &[0.8, 0.3], 1e-12);
    assert_close(&response.standard_errors, &[0.16 * errors[0], 0.21 * errors[1]], 1e-12);
    Ok(())
}

#[test]
fn residuals_are_those_of_the_definitions() -> Result<()> {
    let client = client();
    let family = GlmResiduals::new(&client);
    let residuals = |y: &[f64], mean: &[f64], model, kind| family.call(y, mean, &[2.0, 3.0], model, kind);
    let (y, mean) = ([1.0, 0.0], [0.8, 0.3]);
    let binomial = |kind| residuals(&y, &mean, Family::Binomial, kind);
    let expected = [(-4.0 * 0.8f64.ln()).sqrt(), -(-6.0 * 0.7f64.ln()).sqrt()];
    assert_close(&binomial(Residual::Deviance)?, &expected, 1e-14);
    assert_close(
        &binomial(Residual::Pearson)?,
        &[0.2 * (2.0 / 0.16f64).sqrt(), -0.3 * (3.0 / 0.21f64).sqrt()],
        1e-14,
    );
    assert_close(&binomial(Residual::Response)?, &[0.2, -0.3], 1e-14);
    assert_close(&binomial(Residual::Working)?, &[0.2 / 0.16, -0.3 / 0.21], 1e-14);
    let poisson = residuals(&[0.0, 5.0], &[1.5, 5.0], Family::Poisson, Residual::Deviance)?;
    assert_close(&poisson, &[-(6.0f64).sqrt(), 0.0], 1e-14);
    Ok(())
}

/// Without an intercept the responses and the means have different sums.
#[test]
fn the_squared_residuals_add_up_to_the_deviance() -> Result<()> {
    let client = client();
    let x = (&[1.0, 2.0, 0.5, 3.0, -1.0], [5, 1]);
    let weights = [1.0, 2.0, 0.5, 1.0, 3.0];
    let (shares, counts) = ([0.0, 1.0, 0.5, 1.0, 0.0], [3.0, 2.0, 0.0, 9.0, 1.0]);
    let fits = [
        (Family::Binomial, shares, logistic().call(x, &shares, &weights, 0.3, 1e-14, 25)?),
        (Family::Poisson, counts, PoissonFit::new(&client).call(x, &counts, &weights, 0.3, 1e-14, 25)?),
    ];
    for (family, y, fit) in fits {
        let residuals =
            GlmResiduals::new(&client).call(&y, &fit.fitted, &weights, family, Residual::Deviance)?;
        let squares = numbers(&residuals).iter().map(|r| r * r).sum::<f64>();
        assert_close(&fit.deviance, &[squares], 1e-12);
        // The estimate makes the score zero.
        let fitted = numbers(&fit.fitted);
        let score: f64 = (0..5).map(|i| x.0[i] * weights[i] * (y[i] - fitted[i])).sum();
        assert!(score.abs() < 1e-10, "{family:?}: {score:e}");
    }
    Ok(())
}

/// One column: the slope is the covariance over the variance and the penalty.
#[test]
fn ridge_regression_of_one_column_shrinks_its_slope() -> Result<()> {
    let client = client();
    let (x, y) = ([1.0, 2.0, 4.0, 9.0], [3.0, 2.0, 7.0, 8.0]);
    let lambda = [0.0, 1.0, 12.0];
    let fit = RidgeFit::new(&client).call((&x, [4, 1]), &y, &lambda)?;
    let (xx, xy) = (38.0, 27.0); // the sums of squares and products about the means 4 and 5
                                 // The column is scaled by sqrt(xx / 4), so that its sum of squares is 4.
    let slopes = lambda.map(|lambda| xy / xx * 4.0 / (4.0 + lambda));
    assert_close(&fit.coefficients, &slopes, 1e-14);
    assert_close(&fit.intercept, &slopes.map(|slope| 5.0 - 4.0 * slope), 1e-14);
    let df = lambda.map(|lambda| 4.0 / (4.0 + lambda));
    assert_close(&fit.df, &df, 1e-14);
    let rss = slopes.map(|slope| {
        let residuals = x.iter().zip(&y).map(|(x, y)| (y - 5.0) - slope * (x - 4.0));
        residuals.map(|r| r * r).sum::<f64>()
    });
    assert_close(&fit.rss, &rss, 1e-13);
    let gcv: Vec<f64> = rss.iter().zip(df).map(|(rss, df)| rss / (4.0 - df).powi(2)).collect();
    assert_close(&fit.gcv, &gcv, 1e-13);
    Ok(())
}

/// Orthogonal columns shrink one by one.
#[test]
fn ridge_regression_of_orthogonal_columns_is_that_of_each() -> Result<()> {
    let client = client();
    let x = [1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
    let y = [10.0, 4.0, 5.0, 1.0];
    let fit = RidgeFit::new(&client).call((&x, [4, 2]), &y, &[0.0, 4.0])?;
    assert_close(&fit.coefficients, &[2.0, 2.5, 1.0, 1.25], 1e-14);
    assert_close(&fit.intercept, &[5.0, 5.0], 1e-14);
    assert_eq!(fit.coefficients.shape(), [2, 2]);
    Ok(())
}
