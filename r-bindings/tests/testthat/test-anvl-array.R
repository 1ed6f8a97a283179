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

test_that("an AnvlArray is a matrix, a vector and text as its array is", {
  x <- anvl(c(1.5, 2, 3, 4), c(2L, 2L))
  expect_identical(as.matrix(x), matrix(c(1.5, 2, 3, 4), 2))
  expect_identical(t(x), matrix(c(1.5, 3, 2, 4), 2))
  expect_identical(as.character(x), c("1.5", "2", "3", "4"))
  expect_identical(as.vector(x), c(1.5, 2, 3, 4))
  expect_identical(as.vector(x, "character"), as.character(x))
  # A list all the same.
  expect_identical(names(as.vector(x, "list")), names(unclass(x)))
  expect_length(x, 5L)
  expect_identical(names(lapply(x, class)), names(unclass(x)))
})

test_that("64-bit integers of an AnvlArray convert without bit64", {
  wide <- function(data, dtype) structure(list(data = pjrt_buffer(data, dtype = dtype)), class = "AnvlArray")
  x <- wide(c(-3, 0, 2^53), "i64")
  expect_identical(as.numeric(x), c(-3, 0, 2^53))
  expect_identical(as.integer(wide(c(-3, 7), "i64")), c(-3L, 7L))
  expect_identical(as.logical(wide(c(0, 7), "ui32")), c(FALSE, TRUE))
  expect_identical(as.numeric(wide(2^63, "ui64")), 2^63)
  expect_identical(as.character(wide(2^63, "ui64")), "9223372036854775808")
  expect_identical(as.numeric(wide(c(NA, 1L), "i64")), c(NA, 1))
  expect_identical(as.character(wide(c(NA, 1L), "i64")), c(NA, "1"))
  expect_identical(as.vector(x, "numeric"), c(-3, 0, 2^53))
  expect_s3_class(as.vector(x), "integer64")
})

test_that("an AnvlArray tells of its buffer, and another backend's of its fields", {
  x <- anvl(c(1, 2), 2L)
  expect_identical(dtype(x), dtype(x$data))
  expect_identical(shape(x), 2L)
  expect_identical(device(x), pjrt_device("cpu:0"))
  expect_identical(platform(x), "cpu")
  expect_identical(await(x), x)
  expect_true(is_ready(x))
  expect_identical(value(as_array_async(x)), array(c(1, 2), 2L))
  expect_identical(as_raw(x, row_major = TRUE), as_raw(x$data, row_major = TRUE))
  other <- structure(list(data = 1:2, dtype = "i32", shape = 2L, device = "here"), class = "AnvlArray")
  expect_identical(list(dtype(other), shape(other), device(other)), list("i32", 2L, "here"))
  expect_fault(platform(other), "type", "argument `x$data`: expected a PJRTBuffer", "x$data")
  expect_fault(dtype(structure(list(), class = "AnvlArray")), "type", "expected an AnvlArray with a buffer", "x")
})

test_that("all.equal() compares what AnvlArrays hold", {
  expect_identical(all.equal(anvl(c(1, 2), 2L), anvl(c(1, 2), 2L)), TRUE)
  expect_match(all.equal(anvl(c(1, 2), 2L), anvl(c(1, 3), 2L)), "difference")
  expect_identical(all.equal(anvl(1), 1), "target is an AnvlArray, current is a double value")
})
