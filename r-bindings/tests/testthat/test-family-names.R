# Names and places of families that could clash with something: src/rust/src/names.rs of the package `families`.
skip_if_not_installed("families")
families <- asNamespace("families")
value <- function(x) as.vector(as_array(x))

test_that("an argument may have the name of anything", {
  ones <- rep(list(1), 11L)
  y <- do.call(families$names, c(list(c(1, 2)), ones))
  expect_identical(lapply(y, value), list(c(12, 13), 13))
  expect_identical(as.character(dtype(y[[2]])), "f32")
  # The size is one of the parts.
  expect_identical(value(do.call(families$names, c(list(1), ones))[[2]]), 12)
  by_name <- c(list(PACKAGE = 3, args = 1, T = 5, type = 1, numeric = c(1, 2), c = c(3, 4), dtype = "f64"), ones[1:8])
  y <- do.call(families$names, by_name)
  expect_identical(lapply(y, value), list(18, 18))
  expect_identical(as.character(dtype(y[[2]])), "f64")
  expect_identical(
    names(formals(families$names)),
    c(
      "args", "cx", "key", "self_", "dim", "T", "call", "family", "x", "type", "results", "PACKAGE", "savvy",
      "structure", "class", "c", "numeric", "dtype", "res"
    )
  )
})

test_that("a family may have the name of a generated function, and no argument", {
  expect_identical(value(families$family()), 7)
  expect_identical(value(families$names.2(c(1, 2))), c(2, 4))
})

test_that("a family that a condition leaves out is an error when it is called", {
  expect_identical(value(families$off_windows(1)), 1)
  expect_error(families$nowhere(1), "`nowhere()` is not part of this build", fixed = TRUE)
})

test_that("a family may have as many arguments as R passes", {
  expect_identical(value(families$most(0.5)), sum(1:64) + 0.5)
  expect_identical(value(families$most(0.5, a64 = 0L, 2)), sum(1:63) + 1.5)
})
