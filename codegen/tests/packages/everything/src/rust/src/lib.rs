//! Families of every kind. Only their help is made; the bodies are empty.

use dispatch_runtime::prelude::*;

mod r_families;

/// Logistic regression by Newton's method.
///
/// Fits `logit(p) = x %*% beta` by *iteratively* reweighted **least squares**, for a
/// matrix with 100% of its columns in {a, b}; see also [`ridge`], [`stats::glm()`] and
/// <https://example.org/100%25>. A path such as C:\temp and an address as me@example.org
/// stay as they are, and so does @param in the middle or at the start of a line:
/// @return is no tag here.
///
/// The steps:
///
/// 1. compute the weights `w = p * (1 - p)`;
/// 2. solve for the *step*:
///    - by Cholesky,
///    - or by [LU](https://en.wikipedia.org/wiki/LU_decomposition);
/// 3. stop after `iterations` steps.
///
/// | link | inverse |
/// |:-----|--------:|
/// | logit | `1 / (1 + exp(-x))` |
/// | probit | `pnorm(x)` |
///
/// ```text
/// {a} % \b
/// ```
///
/// ## Convergence
///
/// Not checked.
///
/// ### Details of it
///
/// The [`Link`] matters, [not this] one.
///
/// # Examples
///
/// ```rust
/// let family = Logistic::new(&client);
/// ```
///
/// A fit of cars:
///
/// ```r
/// x <- cbind(1, mtcars$wt) # a brace { and 5%
/// fit <- logistic(x, mtcars$am, link = "logit")
/// if (mtcars$wt[1] %in% 2) {
///   cat("a\tb\\l \"c\"\n")
/// }
/// ```
///
/// And another:
/// ```r
/// logistic(x, mtcars$am, iterations = 2)$coef
/// ```
///
/// # Returns
///
/// The fit
///
/// # References
///
/// McCullagh, P. & Nelder, J. (1989) *Generalized Linear Models*.
///
/// # Note: a colon
///
/// Nothing.
#[dispatch_family(r_export, capacity = 64)]
fn logistic(
    cx: &CompileCx,
    /// The predictors, one row for each observation
    #[dynamic(dtype = [f32, f64], shape = [m, k])]
    x: Aval,
    /// The response, `0` or `1`.
    #[dynamic(dtype = dtype(x), shape = [m])]
    y: Aval,
    /// How many steps are made:
    ///
    /// - few are fast,
    /// - many are `exact`
    #[static_arg(default = 25)]
    iterations: usize,
    /// The link function.
    #[static_arg(default = Link::Logit)]
    link: Link,
) -> Result<Program<Fit<Array>>> {
    todo!()
}

/// How the mean depends on the predictors.
#[derive(StaticArg, Clone, PartialEq)]
enum Link {
    /// The logistic function
    Logit,
    /// The normal distribution's.
    Probit,
    LogLog,
}

/// A fit.
#[derive(OutputTree)]
struct Fit<T> {
    /// The coefficients
    coef: T,
    /// Their covariance, of shape `(k, k)`.
    cov: T,
    steps: [T; 2],
    /// What was there on the way.
    trace: Trace<T>,
}

/// The way to a fit.
#[derive(OutputTree)]
struct Trace<T> {
    /// The deviance after each step.
    deviance: T,
    last: T,
}

/// Ridge regression
#[dispatch_family(r_export, r_name = "fit.ridge", device = fixed)]
fn ridge(
    #[dynamic(dtype = float, shape = [batch.., m, k])] x: Aval,
    #[dynamic(dtype = dtype(x), shape = [batch.., m, _])] y: Aval,
    #[dynamic(dtype = [i32, u8], shape = [..])] weights: Aval,
    #[dynamic(like(weights))] offset: Aval,
    #[dynamic(dtype = f64, shape = shape(weights))] offset64: Aval,
    #[dynamic(dtype = any, shape = [.., 3])] any: Aval,
    #[dynamic(dtype = int, shape = [])] n: Aval,
    #[static_arg(default = 1e-8)] lambda: f64,
    #[static_arg(default = None)] limit: Option<f32>,
    #[static_arg(default = vec![1, 2])] sizes: Vec<i64>,
    #[static_arg] flags: [bool; 3],
    #[static_arg(default = "50% \"of\" {a\\b}".into())] text: String,
    #[static_arg(default = true)] intercept: bool,
    #[static_arg] links: Vec<Link>,
    #[static_arg(default = 3)] level: u8,
) -> Result<Program<(Array, Array)>> {
    todo!()
}

/// A step of training.
///
/// # Examples
///
/// ```r
/// step(list(w = 1, b = 2), 1:3)
/// ```
#[dispatch_family(r_export)]
fn step(
    /// The parameters, which are replaced.
    #[dynamic]
    params: Params<Aval>,
    #[dynamic(dtype = f32, shape = [n])] x: Aval,
    #[dynamic] momentum: Momentum<Aval>,
    #[dynamic(dtype = f32, shape = [n], donate)] state: Aval,
    #[dynamic(dtype = int, shape = [])] others: Vec<Aval>,
    #[dynamic(dtype = bool, shape = [2], donate)] pair: [Aval; 2],
) -> Result<Program<(Array, [Array; 2], Trace<Array>)>> {
    todo!()
}

/// Parameters.
#[derive(InputTree)]
struct Params<T> {
    /// Weights.
    #[dynamic(dtype = [f32, f64], shape = [k, n], donate)]
    w: T,
    #[dynamic(dtype = dtype(w), shape = [n])]
    b: T,
    /// More
    #[dynamic]
    inner: Inner<T>,
}

/// What the steps remember.
#[derive(InputTree)]
struct Momentum<T> {
    /// Of the weights.
    #[dynamic(dtype = f32, shape = [k, n], donate)]
    w: T,
    #[dynamic(dtype = f32, shape = [n], donate)]
    b: T,
}

#[derive(InputTree)]
struct Inner<T> {
    #[dynamic(dtype = f64, shape = [])]
    a: T,
    #[dynamic(like(a))]
    r#type: T,
}

/// # The words of Poincaré
///
/// Under a heading, with é and “quotes”.
///
/// # See also
///
/// [Logistic] for a fit, and [`lm()`].
#[dispatch_family(r_export)]
fn under_heading(#[dynamic(dtype = [c64, bf16], shape = [_])] a: Aval) -> Result<Program<[Array; 3]>> {
    todo!()
}

/// # Examples
///
/// ```r
/// only_examples(1)
/// ```
#[dispatch_family(r_export)]
fn only_examples(#[dynamic(dtype = bool, shape = [])] a: Aval) -> Result<Program<()>> {
    todo!()
}

#[dispatch_family(r_export)]
fn no_words(#[dynamic(dtype = f64, shape = [2, 3])] a: Aval) -> Result<Program> {
    todo!()
}
