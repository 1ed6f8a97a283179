# famglm is another package of this kind, with a copy of the runtime of its own.
fresh_process <- function(code) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  libraries <- paste0(".libPaths(", paste(deparse(.libPaths()), collapse = ""), ")")
  writeLines(c(libraries, "options(warn = 1)", deparse(substitute(code))), script)
  output <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = TRUE, stderr = TRUE
  ))
  list(status = if (is.null(attr(output, "status"))) 0L else attr(output, "status"), output = output)
}

expect_done <- function(result) {
  expect(
    result$status == 0L && any(result$output == "done"),
    paste(c("the process failed:", result$output), collapse = "\n")
  )
}

test_that("two packages share one client, and arrays go both ways", {
  skip_if_not_installed("famglm")
  fit <- famglm::logistic_fit(cbind(1, mtcars$wt), mtcars$am, weights = 1, offset = 0)
  resampled <- bootstrap(fit$fitted, rng_key(1L), 32L)
  expect_equal(as.vector(resampled$estimate), mean(mtcars$am), tolerance = 1e-7)
  back <- famglm::glm_residuals(resampled$replicates, fit$fitted, weights = 1, family = "binomial", type = "response")
  expect_equal(as.vector(back), as.vector(resampled$replicates) - as.vector(fit$fitted))

  client <- function(x) pjrtdispatch::as_pjrt_client(pjrtdispatch::device(x))
  expect_identical(client(back), client(resampled$replicates))
  expect_identical(client(back), pjrtdispatch::pjrt_client("cpu"))
})

test_that("loading makes no client", {
  expect_done(fresh_process({
    loadNamespace("famsim")
    if (requireNamespace("famglm", quietly = TRUE)) loadNamespace("famglm")
    # An option of a client counts only if there is none yet, and is an error otherwise.
    pjrtdispatch::pjrt_client("cpu", cpu_device_count = 3L)
    stopifnot(length(pjrtdispatch::devices("cpu")) == 3L)
    cat("done\n")
  }))
})

test_that("a package that is unloaded leaves the other one working", {
  skip_if_not_installed("famglm")
  expect_done(fresh_process({
    library(pjrtdispatch)
    x <- cbind(1, mtcars$wt)
    fit_before <- famglm::logistic_fit
    fit <- fit_before(x, mtcars$am, 1, 0)
    mean_of <- function(x) as.vector(famsim::bootstrap(x, famsim::rng_key(1L), 20L)$estimate)
    stopifnot(all.equal(mean_of(fit$fitted), mean(mtcars$am)))

    unloadNamespace("famglm")
    stopifnot(!isNamespaceLoaded("famglm"))
    # What it computed is there; its functions are not.
    stopifnot(all.equal(mean_of(fit$fitted), mean(mtcars$am)), nrow(as_array(fit$covariance)) == 2L)
    gone <- tryCatch(fit_before(x, mtcars$am, 1, 0), error = conditionMessage)
    stopifnot(is.character(gone), grepl("was unloaded", gone))
    gc()
    stopifnot(all.equal(mean_of(mtcars$mpg), mean(mtcars$mpg)))

    # Loaded again, it works again, with arrays of before.
    again <- famglm::logistic_fit(x, mtcars$am, 1, 0)
    stopifnot(identical(as_array(again$coefficients), as_array(fit$coefficients)))
    residuals <- famglm::glm_residuals(mtcars$am, fit$fitted, weights = 1, family = "binomial")
    stopifnot(all.equal(sum(as_array(residuals)^2), as_array(fit$deviance)))
    unloadNamespace("famsim")
    famglm::logistic_fit(x, mtcars$vs, 1, 0)
    cat("done\n")
  }))
})
