anvl <- function(data, shape = integer()) {
  x <- pjrt_buffer(data, shape = shape)
  parts <- list(data = x, dtype = dtype(x), shape = shape(x), device = device(x), backend = "pjrt")
  structure(parts, class = "AnvlArray")
}

test_that("an AnvlArray prints like an array, with its dtype and device", {
  expect_snapshot(print(anvl(c(1.5, 2, 3, 4), c(2L, 2L))))
  expect_snapshot(print(anvl(TRUE)))
  quickr <- structure(list(data = matrix(1:4, 2), backend = "quickr"), class = "AnvlArray")
  expect_snapshot(print(quickr))
})

test_that("an AnvlArray converts", {
  x <- anvl(c(1.5, 2, 3, 4), c(2L, 2L))
  expect_identical(as_array(x), matrix(c(1.5, 2, 3, 4), 2))
  expect_identical(as.numeric(x), c(1.5, 2, 3, 4))
  expect_identical(as.integer(x), c(1L, 2L, 3L, 4L))
  expect_identical(dim(x), c(2L, 2L))
  expect_null(dim(anvl(2)))
  expect_identical(as.logical(anvl(TRUE)), TRUE)
  bare <- structure(list(data = matrix(1:4, 2), backend = "quickr"), class = "AnvlArray")
  expect_identical(dim(bare), c(2L, 2L))
  expect_identical(as_array(bare), matrix(1:4, 2))
})

test_that("release() frees what an AnvlArray holds", {
  x <- anvl(c(1, 2), 2L)
  expect_identical(release(x), x)
  expect_error(as_array(x), class = "pjrtdispatch_error")
})

test_that("an AnvlArray without what it should have is told, not taken for something", {
  released <- anvl(c(1, 2), 2L)
  release(released)
  expect_output(print(released), "^<AnvlArray without content>$")
  empty <- structure(list(), class = "AnvlArray")
  expect_output(print(empty), "^<AnvlArray without data>$")
  expect_null(dim(empty))
  expect_fault(as_array(empty), "type", "expected an AnvlArray with data, got one without", "x")
  expect_fault(as.numeric(empty), "type", "expected an AnvlArray with data", "x")
  expect_fault(release(empty), "type", "argument `x$data`: expected a PJRTBuffer, got NULL", "x$data")
  number <- structure(1, class = "AnvlArray")
  expect_output(print(number), "^<AnvlArray without data>$")
  expect_null(dim(number))
})
