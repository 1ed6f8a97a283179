# The methods of a fit, beside those for any model: coef(), fitted(), confint(), deviance(), formula() and AIC() have what
# they need in the components of the object.

#' @importFrom stats family logLik nobs predict residuals vcov
NULL

#' @export
print.fam_glm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:  ", paste(deparse(x$call), collapse = "\n"), "\n\nCoefficients:\n", sep = "")
  print(format(x$coefficients, digits = digits), print.gap = 2L, quote = FALSE)
  cat("\nDegrees of freedom: ", x$df.null, " total, ", x$df.residual, " residual\n", sep = "")
  missing <- stats::naprint(x$na.action)
  if (nzchar(missing)) cat("  (", missing, ")\n", sep = "")
  rounded <- function(number) format(signif(number, digits))
  cat("Null deviance:     ", rounded(x$null.deviance), "\n", sep = "")
  cat("Residual deviance: ", rounded(x$deviance), "   AIC: ", rounded(x$aic), "\n", sep = "")
  invisible(x)
}

#' @export
summary.fam_glm <- function(object, ...) {
  errors <- sqrt(diag(object$covariance))
  z <- object$coefficients / errors
  table <- cbind(
    Estimate = object$coefficients, `Std. Error` = errors, `z value` = z, `Pr(>|z|)` = 2 * stats::pnorm(-abs(z))
  )
  kept <- c(
    "call", "family", "deviance", "null.deviance", "aic", "df.residual", "df.null", "iter", "converged", "na.action"
  )
  structure(
    c(unclass(object)[intersect(kept, names(object))], list(coefficients = table, cov.unscaled = object$covariance)),
    class = "summary.fam_glm"
  )
}

#' @export
print.summary.fam_glm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\nCoefficients:\n", sep = "")
  stats::printCoefmat(x$coefficients, digits = digits, ...)
  link <- c(binomial = "logit", poisson = "log")[[x$family]]
  cat("\nFamily: ", x$family, ", link: ", link, "\n\n", sep = "")
  deviances <- format(signif(c(x$null.deviance, x$deviance), max(5L, digits + 1L)))
  freedom <- format(c(x$df.null, x$df.residual))
  cat(paste0(c("    Null", "Residual"), " deviance: ", deviances, "  on ", freedom, "  degrees of freedom\n"), sep = "")
  missing <- stats::naprint(x$na.action)
  if (nzchar(missing)) cat("  (", missing, ")\n", sep = "")
  cat("AIC: ", format(x$aic, digits = max(4L, digits + 1L)), "\n\n", sep = "")
  cat("Newton steps: ", x$iter, if (!x$converged) ", not converged", "\n\n", sep = "")
  invisible(x)
}

#' @export
vcov.fam_glm <- function(object, ...) object$covariance

#' @export
nobs.fam_glm <- function(object, ...) sum(object$prior.weights > 0)

#' @export
family.fam_glm <- function(object, ...) family_of(object$family)

#' @export
logLik.fam_glm <- function(object, ...) {
  p <- length(object$coefficients)
  # As that of a `glm`, it counts rows of weight 0.
  structure(p - object$aic / 2, df = p, nobs = length(object$y), class = "logLik")
}

#' Predictions and residuals of a fit
#'
#' @param object A fit by [fam_glm()].
#' @param newdata A data frame to predict for; the data of the fit if there is none.
#' @param type For `predict()`, the scale of the predictions: that of the linear predictor, or of the responses. For
#'   `residuals()`, which residuals: see [glm_residuals()].
#' @param se.fit Whether to give standard errors too.
#' @param na.action What to do with missing values in `newdata`: by default, the prediction is missing too.
#' @param ... Ignored.
#' @return Of `predict()` a named vector, or a list of `fit`, `se.fit` and `residual.scale`, which is 1, if `se.fit`. Of
#'   `residuals()` a named vector.
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' fit <- fam_glm(breaks ~ wool + tension, "poisson", warpbreaks)
#' predict(fit, data.frame(wool = "A", tension = c("L", "H")), type = "response")
#' sum(residuals(fit, "deviance")^2)
#' @export
predict.fam_glm <- function(object, newdata = NULL, type = c("link", "response"), se.fit = FALSE,
                            na.action = stats::na.pass, ...) {
  type <- match.arg(type)
  if (is.null(newdata)) {
    x <- stats::model.matrix(object$terms, object$model, object$contrasts)
    offset <- object$offset
    missing <- object$na.action
  } else {
    design <- new_design(object, newdata, na.action)
    x <- design$x
    offset <- design$offset
    missing <- design$na_action
  }
  values <- glm_predict(
    unname(x), unname(object$coefficients), unname(object$covariance), shortened(offset),
    family = object$family, type = type
  )
  read <- function(array) {
    values <- as.vector(array)
    # What is made of a missing value is missing, and no failure of arithmetic.
    values[is.nan(values)] <- NA
    stats::napredict(missing, stats::setNames(values, rownames(x)))
  }
  fit <- read(values$fit)
  if (!se.fit) return(fit)
  list(fit = fit, se.fit = read(values$standard_errors), residual.scale = 1)
}

#' @rdname predict.fam_glm
#' @export
residuals.fam_glm <- function(object, type = c("deviance", "pearson", "response", "working"), ...) {
  type <- match.arg(type)
  values <- glm_residuals(
    unname(object$y), unname(object$fitted.values), shortened(object$prior.weights),
    family = object$family, type = type
  )
  stats::naresid(object$na.action, stats::setNames(as.vector(values), names(object$fitted.values)))
}
