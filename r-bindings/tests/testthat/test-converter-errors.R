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

test_that("what describes a file wrongly is refused by name", {
  path <- tempfile()
  writeBin(1, path)
  expect_fault(mmap_array(NA, "f64", 1), "type", "expected a string, got NA", "path")
  expect_fault(mmap_array(path, c("f64", "f32"), 1), "type", "expected an element type", "dtype")
  expect_fault(mmap_array(path, "f64", "1"), "type", "expected whole numbers, got a string", "shape")
  expect_no_warning(expect_fault(mmap_array(path, "f8e4m3fn", 1), "unknown_dtype", "f8e4m3fn"))
  expect_fault(with_copy("maybe", 1), "value", "got \"maybe\"", "policy")
})
