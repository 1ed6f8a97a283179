test_that("a view shows the elements of an R vector where its strides say", {
  x <- c(1.5, 2.5, 3.5)
  expect_identical(as.vector(values_of(host_view(x, "f64"))), x)
  m <- matrix(1:6, 2)
  expect_identical(values_of(host_view(m, "i32")), m)
  row <- host_view(m, "i32", shape = 3, strides = 2, offset = 1)
  expect_identical(as.vector(values_of(row)), m[2, ])
  back <- host_view(m, "i32", shape = 6, strides = -1, offset = 5)
  expect_identical(as.vector(values_of(back)), rev(1:6))
  bytes <- host_view(as.raw(1:6), "ui8", shape = c(2, 3))
  expect_identical(values_of(bytes), matrix(1:6, 2, byrow = TRUE))
  expect_identical(values_of(host_view(1:3, "i32", convertible = TRUE), "f64"), array(c(1, 2, 3)))
})

test_that("a view that its data is too short for is an error", {
  expect_fault(host_view(1:5, "i32", shape = 6), "value", "got 20 bytes")
  expect_fault(host_view(1:6, "i32", shape = c(2, 3), strides = c(3, 2)), "value", "got 24 bytes")
  expect_fault(host_view(1:6, "i32", shape = 2, strides = -1, offset = 0), "value", "strides [-1]")
  expect_fault(host_view(1:6, "f64"), "dtype", "expected a vector whose elements are f64", "data")
  expect_fault(host_view(letters, "f64"), "type", "expected a raw, integer, double or complex vector", "data")
  expect_fault(brought(host_view(as.raw(2), "bool", shape = 1)), "value", "bytes of 0 and 1")
})

test_that("an aligned, immutable, row-major view is shared and any other is not", {
  # R's large vectors begin at a multiple of 64 bytes, or not, as the system likes: one of two views begins there.
  bytes <- raw(64 + 8 * 1000)
  shares <- vapply(0:63, function(offset) {
    view <- host_view(bytes, "ui8", shape = 8000, strides = 1, offset = offset, immutable = TRUE)
    brought(view)$copied == 0
  }, NA)
  expect_identical(sum(shares), 1L)
  aligned <- which(shares) - 1
  at <- function(offset, ...) host_view(bytes, "ui8", shape = 100, strides = 1, offset = offset, ...)
  expect_fault(brought(at(aligned + 1, immutable = TRUE), copy = "never"), "converter", "multiple of 64 bytes")
  expect_fault(brought(at(aligned), copy = "never"), "converter", "not declared immutable")
  strided <- host_view(bytes, "ui8", shape = 100, strides = 2, offset = aligned, immutable = TRUE)
  expect_fault(brought(strided, copy = "never"), "converter", "not row-major")
  expect_identical(brought(at(aligned, immutable = TRUE), copy = "always")$copied, 100)
  wide <- at(aligned, immutable = TRUE, convertible = TRUE)
  expect_fault(brought(wide, "f32", "never"), "converter", "of dtype ui8, not f32")
})

test_that("a shared vector lives until the buffer ends, and no longer", {
  bytes <- raw(64 + 1000)
  bytes[] <- as.raw(7)
  shared <- NULL
  gc()
  before <- pjrtdispatch:::rs_view_lent()
  for (offset in 0:63) {
    one <- brought(host_view(bytes, "ui8", shape = 1000, strides = 1, offset = offset, immutable = TRUE))
    if (one$copied == 0) shared <- one$buffer
  }
  rm(one)
  gc()
  expect_identical(pjrtdispatch:::rs_view_lent(), before + 1)
  # R copies the vector before it changes it.
  bytes[] <- as.raw(1)
  rm(bytes)
  gc()
  invisible(lapply(1:20, function(i) raw(1064)))
  expect_true(all(as_array(shared) == 7L))
  release(shared)
  expect_identical(pjrtdispatch:::rs_view_lent(), before)
})

test_that("memory is filled piece by piece in R's order", {
  for (shape in list(7, c(3, 5), c(2, 3, 4), c(70, 3), integer())) {
    x <- array(seq_len(prod(shape)) + 0.5, if (length(shape)) shape else 1)
    view <- host_fill("f64", shape)
    for (piece in split(as.vector(x), (seq_along(x) - 1) %/% 4)) fill(view, piece)
    got <- values_of(view, copy = "if_needed")
    expect_identical(as.vector(got), as.vector(x))
  }
  x <- array(1:24, c(4, 3, 2))
  view <- host_fill("f32", dim(x))
  fill(view, x[1:3, , ], rows = TRUE)
  fill(view, x[4, , ], start = 4, rows = TRUE)
  expect_identical(values_of(view), x + 0)
})

test_that("what is filled in wrongly is an error, and so is what is not complete", {
  view <- host_fill("i8", 3)
  expect_fault(fill(view, 300), "value", "300 as element 1", "values")
  expect_fault(fill(view, "a"), "type", "got a string", "values")
  expect_fault(fill(view, TRUE), "dtype", "logical data", "values")
  fill(view, c(1, 2))
  expect_fault(fill(view, 3, start = 2), "value", "expected 3", "start")
  expect_fault(fill(view, c(3, 4)), "value", "at most 1 element", "values")
  expect_fault(brought(view), "value", "2 of 3 elements")
  fill(view, 3, start = 3)
  expect_identical(as.vector(values_of(view)), 1:3)
  expect_fault(fill(view, numeric()), "value", "one that a device has", "view")
  matrix <- host_fill("i8", c(2, 2))
  expect_fault(fill(matrix, 1:3, rows = TRUE), "value", "whole rows, of 2 elements each", "values")
  fill(matrix, 1:2, rows = TRUE)
  expect_fault(fill(matrix, 1:2), "value", "rows as before", "rows")
  expect_fault(fill(host_view(1:3, "i32"), 1), "value", "a view that `host_fill()` made", "view")
  expect_fault(host_fill("f64", c(2^30, 2^30, 2^30)), "shape", "memory of the host", "shape")
})

test_that("views print what they are of", {
  expect_snapshot({
    host_view(c(1.5, 2.5), "f64")
    host_view(matrix(1:6, 2), "i32", shape = 3, strides = 2, offset = 1, read_only = TRUE, immutable = TRUE)
    host_fill("f32", c(2, 3))
  })
  expect_match(format(fill(host_fill("f32", c(2, 3)), 1:2)), "2 of 6 elements filled in, immutable")
  expect_match(format(fill(host_fill("f32", c(2, 3)), 1:6)), "row-major, filled in, immutable")
})

test_that("a view that was saved is an error", {
  view <- unserialize(serialize(host_view(1:3, "i32"), NULL))
  expect_fault(brought(view), "dead", "from another session")
})
