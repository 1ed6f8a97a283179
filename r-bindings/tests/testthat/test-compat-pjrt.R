# The package `pjrt` of r-bindings/compat, where it is installed beside this one.

skip_if_not_installed("pjrt")

test_that("pjrt re-exports the very functions of pjrtdispatch", {
  exports <- getNamespaceExports("pjrt")
  expect_setequal(exports, getNamespaceExports("pjrtdispatch"))
  for (name in exports) {
    expect_identical(getExportedValue("pjrt", name), getExportedValue("pjrtdispatch", name))
  }
})

test_that("code that asks for pjrt (>= 0.4.0) and says pjrt:: runs", {
  expect_true(utils::packageVersion("pjrt") >= "0.4.0")
  x <- pjrt::pjrt_buffer(matrix(c(1, 2, 3, 4), 2))
  expect_s3_class(x, "PJRTBuffer")
  expect_identical(pjrt::as_array(x), matrix(c(1, 2, 3, 4), 2))
})

test_that("a package that imports from pjrt (>= 0.4.0) is installed and runs", {
  lib <- install_stand_in(
    "usespjrt", "twice", "twice <- function(x) as_array(dispatcher_of(x)); dispatcher_of <- function(x) pjrt::pjrt_buffer(2 * x)",
    "importFrom(pjrt, as_array)", "Imports: pjrt (>= 0.4.0)"
  )
  out <- run_with(lib, "cat(usespjrt::twice(21))", load = "")
  expect_identical(out, "42")
})
