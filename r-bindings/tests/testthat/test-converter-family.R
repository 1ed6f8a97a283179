# Objects as arguments of functions of another package: `families` of tests/packages, which scripts/test-r installs.
skip_if_not_installed("families")
families <- asNamespace("families")

object <- function(...) structure(list(...), class = "converted")
clear <- function() while ("D" %in% converter_descriptions()) remove_converter("D")

# A converter that gives `$value` of the object, and notes what it was asked.
asked <- list()
noting <- function(...) {
  clear()
  asked <<- list()
  register_converter("converted", function(x, expected) {
    asked <<- c(asked, list(expected))
    x$value
  }, description = "D", ...)
}
plain <- function(x) as.vector(as_array(x))

test_that("an object is an argument, and the converter knows what the signature says", {
  noting()
  expect_identical(plain(families$plus(object(value = c(1, 2)), c(3, 4))), c(4, 6))
  expect_identical(asked, list(list(dtype = "f32", shape = 2L, path = "x", copy = "if_needed")))
  noting()
  expect_identical(plain(families$axpy(object(value = c(1, 2)), c(3, 4), 2)), c(5, 8))
  expect_identical(asked, list(list(dtype = c("f32", "f64"), shape = 2L, path = "x", copy = "if_needed")))
  noting()
  # The dtype of the group is that of its first array.
  expect_identical(plain(families$axpy(pjrt_buffer(c(1, 2), "f64"), object(value = c(3, 4)), object(value = 2))), c(5, 8))
  expect_identical(asked, list(
    list(dtype = "f64", shape = 2L, path = "y", copy = "if_needed"), list(dtype = "f64", shape = integer(), path = "scale", copy = "if_needed")
  ))
  noting()
  expect_identical(plain(families$sum_of(object(value = 5), 1)), 6)
  expect_identical(asked, list(list(dtype = NULL, shape = NULL, path = "x", copy = "if_needed")))
  noting()
  expect_identical(dim(as_array(families$same_matrix(object(value = matrix(1, 2, 3))))), c(2L, 3L))
  expect_identical(asked[[1]]$shape, c(NA_integer_, NA_integer_))
})

test_that("a size that another array of the call fixes is expected, and none that nobody knows", {
  shapes <- function(expr) {
    noting()
    force(expr)
    lapply(asked, function(e) e$shape)
  }
  one <- object(value = c(1, 2))
  expect_identical(shapes(families$plus(pjrt_buffer(c(3, 4)), one)), list(2L))
  expect_identical(shapes(families$plus(one, object(value = c(1, 2)))), list(NA_integer_, NA_integer_))
  # Data with a class may become something of another shape.
  with_converter("again", function(x, expected) c(1, 2), {
    expect_identical(shapes(families$plus(structure(1, class = "again"), one)), list(NA_integer_))
  })
  noting()
  expect_fault(families$plus(c(1, 2, 3), one), "converter", "the converter `D` gave shape [2], expected f32 of shape [3]", "y")
  # An array of another rank says nothing, and is refused itself.
  noting()
  expect_fault(families$plus(one, matrix(1, 2, 2)), "shape", "2,2", "y")
  expect_identical(asked[[1]]$shape, NA_integer_)
  # One that has to have the same shape has the same rank, too.
  row <- object(value = matrix(1, 1, 2))
  expect_identical(shapes(families$plus_any(matrix(1, 1, 2), row)), list(1:2))
  expect_identical(shapes(families$plus_any(row, pjrt_buffer(matrix(1, 1, 2)))), list(1:2))
  expect_identical(shapes(families$plus_any(one, object(value = c(1, 2)))), list(NULL, NULL))
  # In structs and lists.
  expect_identical(shapes(families$sum_list(list(one, c(1, 1)), list(one, one))), list(NA_integer_, 2L, 2L))
  net <- list(layer = list(w = matrix(1, 2, 2), b = one), scales = list(1), pair = list(c(1, 2), 3))
  expect_identical(shapes(families$parts_of(net, 4)), list(2L))
})

test_that("a converter may give a buffer or an array to a function", {
  noting()
  x <- pjrt_buffer(c(1, 2), "f32")
  expect_identical(plain(families$plus(object(value = x), c(3, 4))), c(4, 6))
  expect_identical(plain(families$plus(c(3, 4), object(value = families$plus(x, x)))), c(5, 8))
})

test_that("objects in structs and lists are converted, with their paths", {
  noting()
  net <- list(
    layer = list(w = object(value = matrix(1, 2, 2)), b = object(value = c(1, 2))), scales = list(1, object(value = 2)),
    pair = list(c(1, 2), object(value = 3))
  )
  expect_identical(plain(families$parts_of(net, 4)), c(4, 3, 7, 3, 3))
  expect_identical(vapply(asked, function(e) e$path, ""), c("net$layer$w", "net$layer$b", "net$scales[[2]]", "net$pair[[2]]"))
  expect_identical(plain(families$sum_list(list(object(value = c(1, 2)), c(1, 1)), list(c(0, 0), object(value = c(1, 1))))), c(3, 4))
})

test_that("static arguments are never converted", {
  noting()
  expect_error(families$plus(1, 2, object(value = 3)), class = "pjrtdispatch_error")
  expect_identical(asked, list())
})

test_that("what is wrong names the converter and the argument, with the user's call", {
  noting()
  plus <- families$plus
  fault <- expect_fault(plus(object(value = NULL), 1), "converter", "argument `x`: the converter `D` gave NULL", "x")
  expect_identical(fault$call, quote(plus(object(value = NULL), 1)))
  expect_fault(plus(1, object(value = pjrt_buffer(1L))), "converter", "the converter `D` gave dtype i32, expected f32", "y")
  expect_fault(plus(object(value = matrix(1, 1, 1)), 1), "converter", "gave shape [1,1], expected f32 of shape [1]", "x")
  expect_fault(families$next_integer(object(value = c(1.5, 2))), "value", "given by the converter `D`", "x")
  expect_fault(families$next_integer(object(value = c(1L, NA))), "value", "given by the converter `D`", "x")
  expect_fault(plus(object(value = c(1, 2)), c(1, 2, 3)), "converter", "the converter `D` gave shape [2], expected f32 of shape [3]", "x")
  clear()
  register_converter("converted", function(x, expected) stop("the file is closed"), description = "D")
  fault <- expect_fault(plus(1, object()), "converter", "argument `y`: the converter `D` failed: the file is closed", "y")
  expect_identical(fault$call, quote(plus(1, object())))
  expect_s3_class(fault$parent, "simpleError")
  clear()
  expect_fault(plus(1, object()), "type", "no converter is registered for an object of class `converted`", "y")
})

test_that("family_explain() and family_warm() take objects", {
  noting()
  plus <- families$plus
  family_clear(plus)
  family_warm(plus, object(value = c(1, 2)), c(1, 2))
  expect_true(family_explain(plus, object(value = c(5, 6)), c(1, 2))$hit)
  expect_no_error(expect_no_compile(plus(object(value = c(5, 6)), c(1, 2))))
})

test_that("conversions for a function are right while R collects all the time", {
  noting()
  expect_same_when_tortured(function() plain(families$axpy(object(value = pjrt_buffer(c(1, 2), "f32")), object(value = c(3, 4)), 2)))
})

test_that("a result is written back by the converter of the argument", {
  told <- list()
  noting(convert_out = function(result, original, info) {
    told <<- c(told, list(info))
    original$value <- as.vector(as_array(result))
    original
  })
  x <- object(value = c(1, 2))
  expect_identical(families$add_to(x, c(10, 20)), object(value = c(11, 22)))
  expect_identical(x$value, c(1, 2))
  expect_identical(told, list(list(`function` = "add_to", argument = "x", index = 1L)))
  both <- families$sum_and_double(x)
  expect_identical(plain(both[[1]]), 3)
  expect_identical(both[[2]], object(value = c(2, 4)))
  # Plain data and arrays give the array, as without `write_back`.
  expect_identical(plain(families$add_to(c(1, 2), c(3, 4))), c(4, 6))
  expect_s3_class(families$add_to(c(1, 2), object(value = c(3, 4))), "AnvlArray")
  expect_length(told, 2L)
})

test_that("a converter may write into the object itself", {
  clear()
  register_converter("env", function(x, expected) x$value, function(result, original, info) {
    original$value <- as.vector(as_array(result))
    original
  }, description = "D")
  x <- structure(list2env(list(value = c(1, 2))), class = "env")
  for (i in 1:2) expect_identical(families$add_to(x, c(10, 20)), x)
  expect_identical(x$value, c(21, 42))
})

test_that("without a way back the result is NULL", {
  noting()
  expect_null(families$add_to(object(value = c(1, 2)), c(3, 4)))
  expect_identical(lengths(families$sum_and_double(object(value = c(1, 2))))[[2]], 0L)
})

test_that("an object that is written into cannot be passed twice", {
  noting()
  x <- object(value = c(1, 2))
  expect_fault(families$add_to(x, x), "converter", "written back into the object, which is passed as `y` too", "x")
  # Elsewhere it can.
  expect_identical(plain(families$plus(x, x)), c(2, 4))
})

test_that("memory that a result is written into is no other argument's", {
  told <- character()
  noting(convert_out = function(result, original, info) {
    told <<- c(told, info$argument)
    original
  })
  numbers <- as.double(1:8)
  view <- function(first, n = 4, by = 1) object(value = host_view(numbers, "f64", n, by, first))
  reason <- "a result is written back into the object, whose memory is that of the object passed as `%s` too"
  expect_fault(families$add_to(view(0), view(3)), "converter", sprintf(reason, "y"), "x")
  expect_fault(families$add_to(view(6, 3, -1), view(0, 3, 2)), "converter", sprintf(reason, "y"), "x")
  expect_fault(families$swap(view(0), view(3)), "converter", sprintf(reason, "y"), "x")
  expect_identical(told, character())
  # Beside each other, or one between the others, they have none in common; and to be read they may.
  families$add_to(view(0), view(4))
  families$add_to(view(0, 4, 2), view(1, 4, 2))
  families$swap(view(0), view(4))
  expect_identical(told, c("x", "x", "x", "y"))
  expect_identical(plain(families$sum_of(view(0), view(0))), 20)
})

test_that("nothing is written into elements that share memory", {
  noting(convert_out = function(result, original, info) original)
  same <- object(value = host_view(c(1, 2), "f64", 3, 0))
  expect_fault(
    families$add_to(same, c(1, 2, 3)), "converter",
    "the converter `D` gave elements that share memory, and a result is written back into it", "x"
  )
  expect_identical(plain(families$add_to(c(1, 2, 3), same)), c(2, 3, 4))
})

test_that("an error on the way back leaves what was written before it, and names its argument", {
  told <- list()
  noting(convert_out = function(result, original, info) {
    if (info$argument == "y") stop("it was closed")
    told <<- c(told, list(plain(result)))
  })
  expect_fault(families$swap(object(value = c(1, 2)), object(value = c(3, 4))), "converter", "failed: it was closed", "y")
  expect_identical(told, list(c(3, 4)))
})

test_that("what is written into is not what a device has", {
  noting(convert_out = function(result, original, info) original, copy = "never")
  view <- host_view(as.double(1:8), "f64", immutable = TRUE)
  expect_fault(
    families$add_to(object(value = view), pjrt_buffer(as.double(1:8))), "converter",
    "may not copy, but a result is written back into this argument", "x"
  )
})

test_that("an object that is read-only cannot be written into", {
  noting(convert_out = function(result, original, info) original)
  view <- function(read_only) object(value = host_view(c(1, 2), "f64", read_only = read_only))
  expect_fault(
    families$add_to(view(TRUE), c(3, 4)), "converter",
    "the converter `D` gave data that is read-only, and a result is written back into it", "x"
  )
  # As another argument it may be.
  expect_identical(plain(families$add_to(c(1, 2), view(TRUE))), c(2, 4))
  expect_s3_class(families$add_to(view(FALSE), c(3, 4)), "converted")
})

test_that("an error on the way back names converter and argument", {
  noting(convert_out = function(result, original, info) stop("it is read-only"))
  add_to <- families$add_to
  fault <- expect_fault(add_to(object(value = c(1, 2)), c(3, 4)), "converter", "argument `x`: the converter `D` failed: it is read-only", "x")
  expect_identical(fault$call, quote(add_to(object(value = c(1, 2)), c(3, 4))))
})

clear()

test_that("a converter in Rust may have a predicate", {
  clear()
  id <- families$rs_register_if(FALSE)
  pair <- structure(list(), class = c("pair", "converted"))
  expect_identical(plain(families$plus(pair, c(1, 1))), c(2, 3))
  expect_identical(converters()[converter_count(), c("class", "description", "native")], data.frame(
    class = NA_character_, description = "pairs in Rust", native = TRUE, row.names = converter_count()
  ))
  expect_fault(families$plus(object(), 1), "type", "no converter is registered for an object of class `converted`", "x")
  # One for a class comes first.
  noting()
  expect_identical(plain(families$plus(structure(list(value = c(5, 5)), class = class(pair)), c(1, 1))), c(6, 6))
  clear()
  remove_converter("pairs in Rust")
  families$rs_register_if(TRUE)
  expect_fault(families$plus(pair, c(1, 1)), "converter", "argument `x`: the converter `pairs in Rust` failed: it does not know", "x")
  remove_converter("pairs in Rust")
  expect_fault(families$plus(pair, c(1, 1)), "type", "no converter is registered", "x")
})
