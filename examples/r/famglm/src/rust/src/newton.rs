//! The fits.

use dispatch_runtime::graph::{while_loop, TriangularOptions, Value};
use dispatch_runtime::prelude::*;

use crate::basis::Basis;
use crate::model::{for_each_row, Failure, Family};

/// What a fit gives.
#[derive(OutputTree)]
pub struct Fit<T> {
    /// The estimated coefficients, one for each column of `x`.
    pub coefficients: T,
    /// Their standard errors.
    pub standard_errors: T,
    /// Their covariance matrix: the inverse of the information matrix.
    pub covariance: T,
    /// The fitted means, one for each row of `x`.
    pub fitted: T,
    /// The deviance: twice the log-likelihood that is missing to a model with a mean of its own for each row.
    pub deviance: T,
    /// The number of Newton steps.
    pub iterations: T,
    /// Whether the deviance stood still before the steps ran out.
    pub converged: T,
    /// The smallest share of a column of `x`, as a squared length, that the columns before it do not explain. Below
    /// `1e-12`, or `NaN`: one of them is a combination of others, and the fit means nothing.
    pub independence: T,
}

/// Logistic regression by Newton's method
///
/// The model is that of `glm()` with `family = binomial`, and so are the start and the rule by which the steps end: the
/// deviance changes by less than `epsilon * (abs(deviance) + 0.1)`. All steps are one program: nothing goes back and forth
/// between R and the device.
///
/// # Examples
///
/// ```r
/// x <- cbind(1, mtcars$wt)
/// fit <- logistic_fit(x, mtcars$am, weights = 1, offset = 0)
/// as.vector(fit$coefficients)
/// as.vector(fit$standard_errors)
/// as.vector(fit$iterations)
///
/// # Another response of the same length: the same program.
/// logistic_fit(x, mtcars$vs, weights = 1, offset = 0)$deviance
/// pjrtdispatch::family_stats(logistic_fit)
/// ```
#[dispatch_family(capacity = 32, r_export)]
pub fn logistic_fit(
    cx: &CompileCx,
    /// The design matrix, a row for each observation.
    #[dynamic(dtype = [f64, f32], shape = [n, p])]
    x: Value,
    /// The share of successes in each row.
    #[dynamic(dtype = dtype(x), shape = [n])]
    y: Value,
    /// The number of trials: one for all rows, or one for each.
    #[dynamic(dtype = dtype(x), shape = [..])]
    weights: Value,
    /// A known part of the linear predictor: one for all rows, or one for each.
    #[dynamic(dtype = dtype(x), shape = [..])]
    offset: Value,
    /// How still the deviance has to stand.
    #[static_arg(default = 1e-8)]
    epsilon: f64,
    /// The most steps that are made.
    #[static_arg(default = 25)]
    max_iterations: i32,
) -> Result<Program<Fit<Array>>, Failure> {
    let rows = Rows::new(&x, y, weights, offset)?;
    Ok(cx.program(rows.fit(Family::Binomial, &x, Control::new(epsilon, max_iterations)?))?)
}

/// Poisson regression by Newton's method
///
/// The model is that of `glm()` with `family = poisson`, whose link is the logarithm, and so are the start and the rule by
/// which the steps end: the deviance changes by less than `epsilon * (abs(deviance) + 0.1)`.
///
/// # Examples
///
/// ```r
/// x <- model.matrix(~ wool + tension, warpbreaks)
/// fit <- poisson_fit(x, warpbreaks$breaks, weights = 1, offset = 0)
/// setNames(as.vector(fit$coefficients), colnames(x))
///
/// # Counts of different times of watching.
/// hours <- rep(c(1, 2), 27)
/// poisson_fit(x, warpbreaks$breaks, weights = 1, offset = log(hours))$deviance
/// ```
#[dispatch_family(capacity = 32, r_export)]
pub fn poisson_fit(
    cx: &CompileCx,
    /// The design matrix, a row for each observation.
    #[dynamic(dtype = [f64, f32], shape = [n, p])]
    x: Value,
    /// The count in each row.
    #[dynamic(dtype = dtype(x), shape = [n])]
    y: Value,
    /// How much the rows count: one number for all, or one for each.
    #[dynamic(dtype = dtype(x), shape = [..])]
    weights: Value,
    /// A known part of the linear predictor, such as the logarithm of a time: one for all rows, or one for each.
    #[dynamic(dtype = dtype(x), shape = [..])]
    offset: Value,
    /// How still the deviance has to stand.
    #[static_arg(default = 1e-8)]
    epsilon: f64,
    /// The most steps that are made.
    #[static_arg(default = 25)]
    max_iterations: i32,
) -> Result<Program<Fit<Array>>, Failure> {
    let rows = Rows::new(&x, y, weights, offset)?;
    Ok(cx.program(rows.fit(Family::Poisson, &x, Control::new(epsilon, max_iterations)?))?)
}

/// When the steps end.
struct Control {
    epsilon: f64,
    max_iterations: i32,
}

impl Control {
    fn new(epsilon: f64, max_iterations: i32) -> Result<Control, Failure> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(format!("`epsilon` has to be a number above 0, not {epsilon}").into());
        }
        if max_iterations < 1 {
            return Err(format!("`max_iterations` has to be 1 at least, not {max_iterations}").into());
        }
        Ok(Control { epsilon, max_iterations })
    }
}

/// What is known of each row beside the design: vectors of one length.
struct Rows {
    y: Value,
    weights: Value,
    offset: Value,
}

impl Rows {
    fn new(x: &Value, y: Value, weights: Value, offset: Value) -> Result<Rows, Failure> {
        let n = x.shape()[0];
        Ok(Rows {
            y,
            weights: for_each_row("weights", weights, n)?,
            offset: for_each_row("offset", offset, n)?,
        })
    }

    /// Newton's method as iterated least squares, in the basis of the columns.
    fn fit(&self, family: Family, x: &Value, control: Control) -> Fit<Value> {
        let Rows { y, weights, offset } = self;
        let (dtype, p) = (x.dtype(), x.shape()[1]);
        let basis = Basis::new(x, weights);
        let columns = &basis.columns;
        let deviance = |eta: &Value| (weights * family.deviance_at(y, eta)).sum(..);

        let eta = family.link(&family.first_mean(y, weights));
        let start = State {
            deviance: deviance(&eta),
            eta,
            estimate: Value::zeros(dtype, [p]),
            half_inverse: Value::zeros(dtype, [p, p]),
            change: Value::full(dtype, [], f64::INFINITY),
            iterations: Value::scalar(0i32),
        };
        let goes_on =
            |state: State| state.change.ge(control.epsilon) & state.iterations.lt(control.max_iterations);
        let step = |state: State| {
            let eta = &state.eta;
            let curvature = (weights * family.variance_at(eta)).named("curvature");
            let information = columns.t().matmul(&(curvature.expand_dims(1) * columns)).named("information");
            let working = curvature * (eta - offset) + weights * (y - family.mean(eta));
            // In this basis the matrix is far from singular, and its inverse t(h) h as good as a solution. It is needed in
            // the end, and each decomposition of the program costs a tenth of a second when it is compiled.
            let identity = Value::eye(dtype, p);
            let half_inverse =
                information.cholesky().triangular_solve(&identity, TriangularOptions::default());
            let gradient = columns.t().matmul(&working).named("gradient");
            let estimate = half_inverse.t().matmul(&half_inverse.matmul(&gradient)).named("estimate");
            let eta = (columns.matmul(&estimate) + offset).named("eta");
            let deviance = deviance(&eta).named("deviance");
            let change = (&deviance - &state.deviance).abs() / (deviance.abs() + 0.1);
            State { eta, estimate, half_inverse, deviance, change, iterations: state.iterations + 1 }
        };
        let end = while_loop(start.into_parts(), |s| goes_on(s.into()), |s| step(s.into()).into_parts());
        let end = State::from(end);

        let half = end.half_inverse.matmul(&basis.back.t());
        let covariance = half.t().matmul(&half).named("covariance");
        Fit {
            coefficients: basis.back.matmul(&end.estimate),
            standard_errors: covariance.diagonal().sqrt(),
            covariance,
            fitted: family.mean(&end.eta),
            converged: end.change.lt(control.epsilon),
            deviance: end.deviance,
            iterations: end.iterations,
            independence: basis.independence,
        }
    }
}

/// What one step hands to the next.
struct State {
    /// The linear predictor of each row.
    eta: Value,
    /// The coefficients in the basis.
    estimate: Value,
    /// `h` in the inverse `t(h) h` of the information matrix in the basis: that of the step that made the estimate, as
    /// `glm()` reports it.
    half_inverse: Value,
    deviance: Value,
    /// By how much of itself the step changed the deviance.
    change: Value,
    iterations: Value,
}

type Parts = (Value, Value, Value, Value, Value, Value);

impl State {
    fn into_parts(self) -> Parts {
        (self.eta, self.estimate, self.half_inverse, self.deviance, self.change, self.iterations)
    }
}

impl From<Parts> for State {
    fn from((eta, estimate, half_inverse, deviance, change, iterations): Parts) -> State {
        State { eta, estimate, half_inverse, deviance, change, iterations }
    }
}
