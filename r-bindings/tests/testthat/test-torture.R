test_that("nothing is lost where R collects all the time", {
  # Each scenario under gctorture2(), in a process without the allocations of a test. By hand: Rscript scenarios.R 1
  libs <- paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  step <- if (is_long()) "7" else "61"
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", test_path("scenarios.R"), step),
    stdout = TRUE, stderr = TRUE, env = libs
  ))
  expect_null(attr(out, "status"))
  expect_no_match(out, "not what it is without torture")
  expect_match(out, "^plugins_and_devices", all = FALSE)
})
