#' Logistic and Poisson regression
#'
#' `fam_glm()` is `glm()` for two families, fitted on a device by [logistic_fit()] or [poisson_fit()]: one program makes all
#' steps of a fit. A fit has the methods of one by `glm()`: `coef()`, `vcov()`, `confint()`, `fitted()`,
#' `residuals()`, `predict()`, `summary()`, `deviance()`, `logLik()`, `AIC()`.
#'
#' Data of another number of rows or coefficients need another program, which takes some tenths of a second to compile; fits of
#' the same sizes share one.
#'
#' @param formula The model, as for [stats::glm()]. For `family = "binomial"` the response is a factor, of which the first
#'   level is the failure, a logical vector, shares of successes, or a matrix of two columns: successes and failures.
#' @param family The distribution of the responses: `"binomial"`, with the logit as its link, or `"poisson"`, with the
#'   logarithm.
#' @param data A data frame with the variables of the formula; others are looked for where the formula was written.
#' @param weights Prior weights: with shares of successes, the numbers of trials.
#' @param subset Which rows of the data to use.
#' @param na.action What to do with missing values: a function, such as [stats::na.omit()] or [stats::na.exclude()].
#' @param offset A known part of the linear predictor, besides those that the formula has by `offset()`.
#' @param contrasts The contrasts of factors: see [stats::model.matrix()].
#' @param epsilon,maxit The steps end when the deviance changes by less than `epsilon * (abs(deviance) + 0.1)`, or after
#'   `maxit` of them.
#' @return An object of class `fam_glm`: a list with the components of a `glm` that are named `coefficients`,
#'   `fitted.values`, `linear.predictors`, `deviance`, `null.deviance`, `aic`, `iter`, `converged`, `df.residual`,
#'   `df.null`, `y`, `prior.weights`, `offset`, `call`, `formula`, `terms`, `model`, `contrasts`, `xlevels` and `na.action`,
#'   the name of the `family`, and `covariance`, the covariance matrix of the coefficients.
#'
#'   It is an error if the design matrix is rank deficient; `glm()` would drop columns.
#' @seealso [fam_ridge()]
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' fit <- fam_glm(am ~ wt + hp, "binomial", mtcars)
#' summary(fit)
#' predict(fit, data.frame(wt = 3, hp = 120), type = "response", se.fit = TRUE)
#'
#' fam_glm(breaks ~ wool * tension, "poisson", warpbreaks)
#' @export
fam_glm <- function(formula, family = c("binomial", "poisson"), data, weights, subset, na.action, offset,
                    contrasts = NULL, epsilon = 1e-8, maxit = 25L) {
  call <- match.call()
  family <- match_family(family)
  frame <- frame_of(match.call(expand.dots = FALSE), parent.frame())
  design <- design_of(frame, contrasts)
  response <- read_response(frame, family)
  offset <- read_offset(frame)
  fit <- fit_design(design$x, response, offset, family, epsilon, maxit)
  null <- null_deviance(design, response, offset, family, epsilon, maxit)

  used <- response$weights > 0
  p <- ncol(design$x)
  # Counts that are not whole numbers were told of.
  aic <- suppressWarnings(
    family_of(family)$aic(response$y, response$trials, fit$fitted.values, response$weights, fit$deviance)
  )
  structure(
    c(fit, list(
      null.deviance = null, aic = aic + 2 * p, df.residual = sum(used) - p,
      df.null = sum(used) - attr(design$terms, "intercept"), y = response$y, prior.weights = response$weights,
      offset = offset, family = family, call = call, formula = formula, terms = design$terms, model = frame,
      contrasts = design$contrasts, xlevels = design$xlevels, na.action = attr(frame, "na.action")
    )),
    class = "fam_glm"
  )
}

# "binomial", binomial or binomial(), and the same of poisson.
match_family <- function(family) {
  known <- c("binomial", "poisson")
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) {
    link <- c(binomial = "logit", poisson = "log")[family$family]
    if (!is.na(link) && family$link != link) {
      stop_user("the link of ", family$family, " has to be ", link, ", not ", family$link)
    }
    family <- family$family
  }
  if (identical(family, known)) family <- known[1L]
  if (!is.character(family) || length(family) != 1L || !family %in% known) {
    given <- if (is.character(family)) paste0("\"", family, "\"", collapse = ", ") else class(family)[1L]
    stop_user("`family` has to be \"binomial\" or \"poisson\", not ", given)
  }
  family
}

family_of <- function(name) switch(name, binomial = stats::binomial(), poisson = stats::poisson())

# The response as shares or counts, their weights and numbers of trials.
read_response <- function(frame, family) {
  y <- stats::model.response(frame, "any")
  if (is.null(y)) stop_user("the formula has no response")
  weights <- stats::model.weights(frame)
  if (is.null(weights)) weights <- rep(1, NROW(y))
  if (!is.numeric(weights)) stop_user("`weights` has to be numeric, not ", class(weights)[1L])
  if (any(weights < 0)) stop_user("`weights` has negative numbers")
  trials <- rep(1, NROW(y))
  names <- if (is.matrix(y)) rownames(y) else names(y)
  if (family == "binomial" && is.matrix(y) && ncol(y) == 2L) {
    check_counts(y, "successes and failures")
    trials <- rowSums(y)
    weights <- weights * trials
    y <- ifelse(trials > 0, y[, 1L] / trials, 0)
  } else if (is.matrix(y) && ncol(y) > 1L) {
    stop_user(
      "the response has ", ncol(y), " columns",
      if (family == "binomial") ": it has to have one, or successes and failures" else ", not one"
    )
  } else if (family == "binomial") {
    if (is.factor(y)) y <- y != levels(y)[1L]
    if (!is.numeric(y) && !is.logical(y)) {
      stop_user("a binomial response has to be a factor, logical or numeric, not ", class(y)[1L])
    }
    if (any(y < 0 | y > 1)) stop_user("a binomial response has to be between 0 and 1")
    if (any(abs(weights * y - round(weights * y)) > 1e-3)) warn_user("the numbers of successes are not whole numbers")
  } else {
    if (!is.numeric(y) && !is.logical(y)) stop_user("a Poisson response has to be numeric, not ", class(y)[1L])
    check_counts(y, "a Poisson response")
  }
  y <- stats::setNames(as.double(y), names)
  list(y = y, weights = as.double(weights), trials = trials)
}

check_counts <- function(y, what) {
  if (!is.numeric(y) && !is.logical(y)) stop_user(what, " have to be numeric, not ", class(y[1L])[1L])
  if (!all(is.finite(y))) stop_user(what, ": there are values that are not finite")
  if (any(y < 0)) stop_user(what, ": there are negative values")
  if (any(abs(y - round(y)) > 1e-3)) warn_user(what, ": there are values that are not whole numbers")
}

read_offset <- function(frame) {
  offset <- stats::model.offset(frame)
  if (is.null(offset)) return(rep(0, nrow(frame)))
  check_finite(offset, "the offsets")
  as.double(offset)
}

# One number for all if they are alike: then nothing but the number goes to the device.
shortened <- function(x) if (length(x) > 0L && !anyNA(x) && all(x == x[1L])) x[1L] else x

fit_design <- function(x, response, offset, family, epsilon, maxit) {
  run <- switch(family, binomial = logistic_fit, poisson = poisson_fit)
  fit <- run(
    unname(x), unname(response$y), shortened(response$weights), shortened(offset),
    epsilon = epsilon, max_iterations = maxit
  )
  independence <- as_array(fit$independence)
  if (is.na(independence) || independence < 1e-12) {
    check_independent(x, response$weights)
    stop_user("the columns of the design matrix are too nearly dependent on each other")
  }
  deviance <- as_array(fit$deviance)
  iterations <- as_array(fit$iterations)
  if (!is.finite(deviance)) {
    stop_user("the fit diverged: after ", iterations, " steps the deviance is ", deviance)
  }
  converged <- as_array(fit$converged)
  if (!converged) warn_user("the fit did not converge in ", iterations, " steps")
  fitted <- stats::setNames(as.vector(fit$fitted), rownames(x))
  warn_boundary(fitted, family)
  coefficients <- stats::setNames(as.vector(fit$coefficients), colnames(x))
  covariance <- as_array(fit$covariance)
  dimnames(covariance) <- list(colnames(x), colnames(x))
  list(
    coefficients = coefficients, covariance = covariance, fitted.values = fitted,
    linear.predictors = drop(x %*% coefficients) + offset, deviance = deviance, iter = iterations,
    converged = converged
  )
}

warn_boundary <- function(fitted, family) {
  eps <- 10 * .Machine$double.eps
  if (family == "binomial" && any(fitted > 1 - eps | fitted < eps)) {
    warn_user("fitted probabilities numerically 0 or 1 occurred: a combination of the terms may separate the responses")
  }
  if (family == "poisson" && any(fitted < eps)) warn_user("fitted rates numerically 0 occurred")
}

# The deviance without the terms.
null_deviance <- function(design, response, offset, family, epsilon, maxit) {
  deviance_of <- function(mean) sum(family_of(family)$dev.resids(response$y, mean, response$weights))
  if (attr(design$terms, "intercept") == 0L) return(deviance_of(family_of(family)$linkinv(offset)))
  mean <- stats::weighted.mean(response$y, response$weights)
  if (all(offset == 0)) return(deviance_of(rep(mean, length(offset))))
  ones <- matrix(1, length(offset), 1L, dimnames = list(NULL, "(Intercept)"))
  fit_design(ones, response, offset, family, epsilon, maxit)$deviance
}
