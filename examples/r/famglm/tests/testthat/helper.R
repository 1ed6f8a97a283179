# Largest difference, relative to the size of the numbers.
difference <- function(got, expected) {
  expect_identical(length(got), length(expected))
  expect_identical(is.na(unname(got)), is.na(unname(expected)))
  max(0, abs(got - expected) / pmax(1, abs(expected)), na.rm = TRUE)
}

expect_close <- function(got, expected, tolerance = 1e-8, info = NULL) {
  expect_identical(names(got), names(expected), info = info)
  expect_identical(dim(got), dim(expected), info = info)
  expect_lt(difference(got, expected), tolerance)
}

# Everything that a fit and one by glm() both have.
expect_like_glm <- function(fit, glm, tolerance = 1e-8) {
  expect_s3_class(fit, "fam_glm")
  close <- function(got, expected) expect_close(got, expected, tolerance)
  close(coef(fit), coef(glm))
  close(vcov(fit), vcov(glm))
  expect_identical(dimnames(vcov(fit)), dimnames(vcov(glm)))
  close(summary(fit)$coefficients, summary(glm)$coefficients)
  expect_identical(dimnames(summary(fit)$coefficients), dimnames(summary(glm)$coefficients))
  close(fitted(fit), fitted(glm))
  close(fit$linear.predictors, glm$linear.predictors)
  for (type in c("deviance", "pearson", "response", "working")) {
    # The square root of what is almost 0 has half of the digits.
    expect_close(residuals(fit, type), residuals(glm, type), if (type == "deviance") sqrt(tolerance) / 10 else tolerance)
  }
  for (type in c("link", "response")) {
    close(predict(fit, type = type), predict(glm, type = type))
    errors <- predict(fit, type = type, se.fit = TRUE)
    theirs <- predict(glm, type = type, se.fit = TRUE)
    close(errors$fit, theirs$fit)
    # glm() names them, but for a model of one coefficient.
    close(unname(errors$se.fit), unname(theirs$se.fit))
  }
  close(deviance(fit), deviance(glm))
  close(fit$null.deviance, glm$null.deviance)
  close(AIC(fit), AIC(glm))
  close(BIC(fit), BIC(glm))
  expect_equal(logLik(fit), logLik(glm), tolerance = tolerance)
  expect_equal(nobs(fit), nobs(glm))
  expect_equal(df.residual(fit), df.residual(glm))
  expect_equal(fit$df.null, glm$df.null)
  expect_identical(fit$iter, glm$iter)
  expect_identical(fit$converged, glm$converged)
  expect_identical(fit$xlevels, glm$xlevels)
  expect_identical(fit$na.action, glm$na.action)
}
