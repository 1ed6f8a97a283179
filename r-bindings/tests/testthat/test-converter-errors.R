# What goes wrong with what a converter gave names the converter and the argument, and what is not an array is none.
on_device <- function(x, dtype = NULL) as_array(pjrt_buffer(x, dtype))

giving <- function(value, expr) with_converter("converted", function(x, expected) value, expr, description = "D")
object <- structure(list(), class = "converted")

test_that("an error of data that a converter gave names it, whoever finds it", {
  skeleton <- pjrt_skeleton("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
  bad <- list(
    host_fill("f32", 2), structure(list(data = 1, backend = "pjrt"), class = "AnvlArray"),
    structure(list(), class = "AnvlArray"), structure(list(data = 1:2, backend = "plain"), class = "AnvlArray"),
    host_view(c(1e300, 1), "f64", convertible = TRUE)
  )
  for (value in bad) {
    giving(value, expect_match(conditionMessage(expect_error(run(skeleton, object))), "^argument `x.*`D`"))
    giving(value, expect_match(conditionMessage(expect_error(pjrt_buffer(object, "f32"))), "^argument `data.*`D`"))
  }
  expect_fault(giving(bad[[2]], run(skeleton, object)), "type", "given by the converter `D`", "x$data")
  any <- dynamic_skeleton(function(inputs) skeleton, 1)
  for (value in bad[1:4]) {
    giving(value, expect_match(conditionMessage(expect_error(run(any, object))), "^argument `...\\[\\[1\\]\\].*`D`"))
  }
})

test_that("the message of a handle that is dead says so", {
  saved <- unserialize(serialize(host_view(c(1, 2), "f64"), NULL))
  expect_fault(giving(saved, pjrt_buffer(object)), "converter", "gave a PJRTHostView that was released or is from another session")
  released <- release(pjrt_buffer(1))
  expect_fault(giving(released, pjrt_buffer(object)), "converter", "gave a PJRTBuffer that was released")
})

test_that("a value that another converter of the call has released names converter and argument", {
  given <- NULL
  register_converter("kept", function(x, expected) given <<- pjrt_buffer(c(1, 2)), description = "kept")
  register_converter("released", function(x, expected) release(given), description = "released")
  on.exit({
    remove_converter("kept")
    remove_converter("released")
  })
  kept <- structure(list(), class = "kept")
  expect_fault(
    dispatch(echo()$d, list(a = list(kept), b = structure(list(), class = "released"))), "converter",
    "the converter `released` gave a PJRTBuffer that was released", "b"
  )
  register_converter("other", function(x, expected) {
    release(given)
    1
  }, description = "other")
  on.exit(remove_converter("other"), add = TRUE)
  expect_fault(
    dispatch(echo()$d, list(a = list(kept), b = structure(list(), class = "other"))), "converter",
    "argument `a[[1]]`: R code has changed what the converter `kept` gave", "a[[1]]"
  )
})

test_that("elements are counted from 1", {
  numbers <- host_view(matrix(c(1, 2, 3, 4.5), 2), "f64", convertible = TRUE)
  expect_fault(giving(numbers, pjrt_buffer(object, "i32")), "value", "got 4.5 as element [2, 2], given by", "data")
  day <- structure(c(1, 2.5), class = "Date")
  expect_fault(pjrt_buffer(day, "i32"), "value", "got 2.5 as element 2, given by the converter `Date`", "data")
})

test_that("a buffer of what a converter gave has no values that its dtype does not hold", {
  expect_fault(giving(c(1L, NA), pjrt_buffer(object)), "value", "NA as element 2, given by the converter `D`", "data")
  expect_fault(giving(NA, pjrt_buffer(object)), "value", "given by the converter `D`", "data")
  expect_fault(giving(1e300, pjrt_buffer(object)), "value", "1e+300 as element 1, given by the converter `D`", "data")
  expect_identical(giving(c(1, NA), as.vector(on_device(object))), c(1, NaN))
})

test_that("what a program may write into is not the object's own memory", {
  path <- tempfile()
  numbers <- as.double(1:1000)
  writeBin(numbers, path)
  shared <- mmap_array(path, "f64", 1000, immutable = TRUE)
  doubling <- paste(
    "func.func @main(%a: tensor<1000xf64> {jax.buffer_donor = true}) -> tensor<1000xf64> {",
    "  %r = stablehlo.add %a, %a : tensor<1000xf64>", "  return %r : tensor<1000xf64>", "}",
    sep = "\n"
  )
  skeleton <- pjrt_skeleton(doubling)
  expect_identical(bytes_for("MappedArray", result <- run(skeleton, shared)), 8000)
  expect_identical(as.vector(as_array(result)), 2 * numbers)
  expect_fault(with_copy("never", run(skeleton, shared)), "converter", "but a program may write into this argument")
  skip_if_not_installed("families")
  doubled <- asNamespace("families")$doubled
  expect_identical(bytes_for("MappedArray", result <- doubled(shared)), 8000)
  expect_identical(as.vector(as_array(result)), 2 * numbers)
  expect_fault(with_copy("never", doubled(shared)), "converter", "but a program may write into this argument", "x")
  expect_identical(readBin(path, "double", 1000), numbers)
})

test_that("a data frame has columns without names, and none of a length of its own", {
  unnamed <- structure(list(1:3, 4:6), class = "data.frame", row.names = 1:3)
  expect_identical(on_device(unnamed), matrix(1:6 + 0, 3))
  unnamed[[2]] <- letters[1:3]
  expect_fault(on_device(unnamed), "converter", "column 2: expected numbers without a class", "data")
  # As many elements in all as there should be.
  ragged <- structure(list(a = 1:3, b = 1:2, c = 1:4), class = "data.frame", row.names = 1:3)
  expect_fault(on_device(ragged), "converter", "column `b`: expected 3 elements, one for each row, got 2", "data")
})

test_that("a dense Matrix of truth values is numbers where such are expected, and has no NA", {
  use_package("Matrix")
  truth <- Matrix::Matrix(matrix(c(1, 2, 3, 4), 2), sparse = FALSE) > 2
  expect_identical(on_device(truth, "f32"), matrix(c(0, 0, 1, 1), 2))
  truth[1, 2] <- NA
  expect_fault(on_device(truth), "converter", "element 3 is NA, which bool does not hold", "data")
  expect_identical(on_device(truth, "f32"), matrix(c(0, 0, NaN, 1), 2))
})

test_that("an array of numpy with a mask is refused", {
  use_numpy()
  masked <- reticulate::py_eval("__import__('numpy').ma.array([1., 2.], mask=[0, 1])", convert = FALSE)
  expect_fault(on_device(masked), "converter", "it has a mask, which an array has not", "data")
  expect_identical(as.vector(on_device(masked$filled(5))), c(1, 5))
})

test_that("a view of a vector has no missing integer, which would be a number on the device", {
  refused <- function(view, place, ...) {
    expect_fault(giving(view, pjrt_buffer(object, ...)), "value", sprintf("got NA as element %s, given by the converter `D`", place), "data")
  }
  refused(host_view(c(1L, NA), "i32"), "2")
  refused(host_view(c(1L, NA), "i32", convertible = TRUE), "2", "f64")
  big <- bit64::as.integer64(c(NA, 1))
  refused(host_view(big, "i64"), "1")
  refused(host_view(big, "i64", convertible = TRUE), "1", "f64")
  refused(host_view(matrix(c(1L, 2L, NA, 3L), 2), "i32"), "[1, 2]")
  expect_identical(giving(host_view(c(1, NA), "f64"), as.vector(on_device(object))), c(1, NA))
  # What is left out, and what has a value for all bits.
  expect_identical(giving(host_view(c(1L, NA, 3L), "i32", shape = 2, strides = 2), as.vector(on_device(object))), c(1L, 3L))
  expect_identical(giving(host_view(c(NA, 1L), "i32", shape = c(2, 0)), dim(on_device(object))), c(2L, 0L))
  least <- host_view(as.raw(c(0, 0, 0, 128)), "i32", shape = 1)
  expect_identical(giving(least, as.vector(on_device(object, "i32"))), NA_integer_)
  expect_identical(giving(host_view(NA_integer_, "ui32"), dim(on_device(object))), 1L)
})

test_that("of a shape with very many sizes the message has only the first", {
  for (f in list(function(n) host_fill("f32", n), function(n) pjrt_buffer(1:2, shape = n), function(n) host_view(1, "f64", strides = n))) {
    expect_match(conditionMessage(expect_error(f(rep(2, 1e5)))), "2, ?2, ?2, ?2, ?2, ?2, ?2, ?2, ?... 100000 in all")
  }
})

test_that("what describes a file wrongly is refused by name", {
  path <- tempfile()
  writeBin(1, path)
  expect_fault(mmap_array(NA, "f64", 1), "type", "expected a string, got NA", "path")
  expect_fault(mmap_array(path, c("f64", "f32"), 1), "type", "expected an element type", "dtype")
  expect_fault(mmap_array(path, "f64", "1"), "type", "expected whole numbers, got a string", "shape")
  expect_no_warning(expect_fault(mmap_array(path, "f8e4m3fn", 1), "unknown_dtype", "f8e4m3fn"))
  expect_fault(mmap_array(path, "f64", c(1e9, 1e9, 1e9)), "shape", "expected a shape that a file may have, got one of 1e+27 elements", "shape")
  expect_fault(mmap_array(path, "f64", rep(2, 2000)), "shape", "got one of Inf elements", "shape")
  expect_fault(mmap_array(path, "f32", 1, offset = 3), "value", "a multiple of 4 bytes, where an element of f32 can begin, got 3", "offset")
  expect_identical(dim(mmap_array(path, "c64", 0, offset = 4)), 0L)
  expect_fault(with_copy("maybe", 1), "value", "got \"maybe\"", "policy")
})

test_that("of a shape with very many sizes a message tells the first", {
  many <- array(1, rep(1L, 100000L))
  one <- pjrt_skeleton("func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }")
  for (fault in list(
    giving(many, expect_fault(run(one, object), "converter", "gave shape [1,1,1,1,1,1,1,1,... 100000 in all], expected")),
    expect_fault(run(one, many), "shape", "got [1, 1, 1, 1, 1, 1, 1, 1, ... 100000 in all]", "x")
  )) {
    expect_lt(nchar(conditionMessage(fault)), 400L)
  }
})
