# The definition, by a decomposition that does not square the condition number.
ridge_by_svd <- function(x, y, lambda) {
  centre <- colMeans(x)
  x <- sweep(x, 2L, centre)
  scale <- sqrt(colMeans(x^2))
  parts <- svd(sweep(x, 2L, scale, "/"))
  shrunk <- parts$d * crossprod(parts$u, y - mean(y)) / (parts$d^2 + lambda)
  slopes <- drop(parts$v %*% shrunk) / scale
  list(coefficients = c(mean(y) - sum(centre * slopes), slopes), df = sum(parts$d^2 / (parts$d^2 + lambda)))
}

lambda <- c(0, 0.003, 0.1, 20)

test_that("ridge regression is what its definition says", {
  for (data in list(longley[c(7, 1:6)], mtcars)) {
    x <- as.matrix(data[-1L])
    fit <- fam_ridge(reformulate(names(data)[-1L], names(data)[1L]), data, lambda)
    expect_identical(dimnames(coef(fit)), list(format(lambda), c("(Intercept)", colnames(x))))
    for (i in seq_along(lambda)) {
      expected <- ridge_by_svd(x, data[[1L]], lambda[i])
      expect_lt(max(abs(coef(fit)[i, ] / expected$coefficients - 1)), 1e-8)
      expect_close(fit$df[[i]], expected$df)
      residuals <- data[[1L]] - drop(cbind(1, x) %*% expected$coefficients)
      expect_close(fit$rss[[i]], sum(residuals^2))
      expect_close(fit$gcv[[i]], sum(residuals^2) / (nrow(x) - expected$df)^2)
    }
  }
})

test_that("without a penalty it is least squares", {
  fit <- fam_ridge(Employed ~ ., longley, 0)
  expect_lt(max(abs(coef(fit)[1, ] / coef(lm(Employed ~ ., longley)) - 1)), 1e-8)
  expect_close(unname(fit$rss), deviance(lm(Employed ~ ., longley)))
})

test_that("MASS has the same", {
  skip_if_not_installed("MASS")
  fit <- fam_ridge(Employed ~ ., longley, lambda)
  theirs <- MASS::lm.ridge(Employed ~ ., longley, lambda = lambda)
  expect_lt(max(abs(coef(fit) / coef(theirs) - 1)), 1e-8)
  expect_close(unname(fit$gcv), unname(theirs$GCV))
})

test_that("predictions are those of the coefficients", {
  fit <- fam_ridge(mpg ~ wt + factor(cyl), mtcars, lambda)
  new <- data.frame(wt = c(2, 3), cyl = c("4", "8"), row.names = c("a", "b"))
  expected <- cbind(1, c(2, 3), 0, c(0, 1)) %*% coef(fit)[3, ]
  expect_close(predict(fit, new, lambda = 0.1), setNames(drop(expected), c("a", "b")), 1e-12)
  best <- fit$lambda[which.min(fit$gcv)]
  expect_identical(predict(fit), predict(fit, mtcars, best))
  expect_identical(dim(predict(fit, new, lambda = lambda)), c(2L, 4L))
  expect_error(predict(fit, new, lambda = 7), "the fit has no `lambda` of 7", fixed = TRUE)
  expect_output(print(fit), "a row for each lambda")
})

test_that("what it cannot fit is an error", {
  expect_error(fam_ridge(mpg ~ wt, mtcars, -1), "`lambda` has to be numbers that are not negative")
  expect_error(fam_ridge(mpg ~ wt, mtcars, NA_real_), "`lambda`")
  expect_error(fam_ridge(mpg ~ 0 + wt, mtcars, 1), "has to have an intercept")
  expect_error(fam_ridge(mpg ~ 1, mtcars, 1), "the model has no terms")
  expect_error(fam_ridge(mpg ~ wt + offset(hp), mtcars, 1), "takes no offset")
  expect_error(fam_ridge(mpg ~ wt + I(0 * hp), mtcars, 1), "`I(0 * hp)` is constant", fixed = TRUE)
  expect_error(fam_ridge(cbind(mpg, hp) ~ wt, mtcars, 1), "the response has 2 columns")
  expect_error(fam_ridge(mpg ~ wt + I(2 * wt), mtcars, 0), "rank deficient")
})
