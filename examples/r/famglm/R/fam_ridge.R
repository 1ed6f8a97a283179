#' Ridge regression
#'
#' Least squares with a penalty on the size of the coefficients, for many penalties at once, by [ridge_fit()]. The
#' coefficients are penalised on the scale where their columns have variance 1, and the intercept is not penalised, as in
#' `MASS::lm.ridge()`.
#'
#' @inheritParams fam_glm
#' @param formula The model, with an intercept.
#' @param lambda The penalties: numbers that are not negative.
#' @return An object of class `fam_ridge`: a list with `coefficients`, a matrix that has a row for each penalty, `lambda`, the
#'   effective numbers of coefficients `df` (the intercept not counted), the sums of squared residuals `rss`, the scores
#'   `gcv` of generalised cross-validation, and what `predict()` needs.
#' @seealso [fam_glm()]
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' fit <- fam_ridge(Employed ~ ., longley, lambda = c(0, 0.003, 0.01, 0.1))
#' fit
#' predict(fit, longley[1:3, ], lambda = 0.01)
#' @export
fam_ridge <- function(formula, data, lambda, subset, na.action, contrasts = NULL) {
  call <- match.call()
  if (!is.numeric(lambda) || length(lambda) == 0L || !all(is.finite(lambda)) || any(lambda < 0)) {
    stop_user("`lambda` has to be numbers that are not negative")
  }
  frame <- frame_of(match.call(expand.dots = FALSE), parent.frame())
  if (!is.null(stats::model.offset(frame))) stop_user("a ridge regression takes no offset")
  design <- design_of(frame, contrasts)
  if (attr(design$terms, "intercept") == 0L) stop_user("the formula of a ridge regression has to have an intercept")
  y <- stats::model.response(frame, "numeric")
  if (is.null(y)) stop_user("the formula has no response")
  if (is.matrix(y) && ncol(y) > 1L) stop_user("the response has ", ncol(y), " columns, not one")
  check_finite(y, "the responses")
  x <- design$x[, -1L, drop = FALSE]
  if (ncol(x) == 0L) stop_user("the model has no terms")
  constant <- colnames(x)[apply(x, 2L, function(column) all(column == column[1L]))]
  if (length(constant) > 0L) stop_user("`", constant[1L], "` is constant, which the intercept is already")

  # With a penalty, columns may depend on each other.
  if (any(lambda == 0)) check_independent(design$x)
  fit <- ridge_fit(unname(x), as.double(y), as.double(lambda))
  read <- function(name) stats::setNames(as.vector(fit[[name]]), format(lambda))
  coefficients <- cbind(as.vector(fit$intercept), as_array(fit$coefficients))
  dimnames(coefficients) <- list(format(lambda), colnames(design$x))
  structure(
    list(
      coefficients = coefficients, lambda = lambda, df = read("df"), rss = read("rss"), gcv = read("gcv"), call = call,
      terms = design$terms, contrasts = design$contrasts, xlevels = design$xlevels, na.action = attr(frame, "na.action"),
      model = frame
    ),
    class = "fam_ridge"
  )
}

#' @export
print.fam_ridge <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:  ", paste(deparse(x$call), collapse = "\n"), "\n\nCoefficients, a row for each lambda:\n", sep = "")
  print(x$coefficients, digits = digits)
  cat("\nThe least score of cross-validation is that of lambda = ", format(x$lambda[which.min(x$gcv)]), ".\n", sep = "")
  invisible(x)
}

#' Predictions of ridge regressions
#'
#' @param object A fit by [fam_ridge()].
#' @param newdata A data frame to predict for; the data of the fit if there is none.
#' @param lambda The penalties to predict with, of those of the fit; by default the one with the least score of
#'   generalised cross-validation.
#' @param na.action What to do with missing values in `newdata`: by default, the prediction is missing too.
#' @param ... Ignored.
#' @return A vector, or with several penalties a matrix with a column for each.
#' @export
predict.fam_ridge <- function(object, newdata = NULL, lambda = object$lambda[which.min(object$gcv)],
                              na.action = stats::na.pass, ...) {
  rows <- match(lambda, object$lambda)
  if (anyNA(rows)) stop_user("the fit has no `lambda` of ", lambda[is.na(rows)][1L])
  if (is.null(newdata)) {
    x <- stats::model.matrix(object$terms, object$model, object$contrasts)
    missing <- object$na.action
  } else {
    design <- new_design(object, newdata, na.action)
    x <- design$x
    missing <- design$na_action
  }
  drop(stats::napredict(missing, x %*% t(object$coefficients[rows, , drop = FALSE])))
}
