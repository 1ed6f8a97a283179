there_and_back <- function(x, ...) as_array(pjrt_buffer(x, ...))

test_that("vectors and arrays go there and back", {
  expect_identical(there_and_back(1:3), array(1:3, 3))
  expect_identical(there_and_back(matrix(1:6, 2, 3)), matrix(1:6, 2, 3))
  expect_identical(there_and_back(array(1:24, 2:4)), array(1:24, 2:4))
  expect_identical(there_and_back(array(1:210, c(5, 1, 6, 7))), array(1:210, c(5, 1, 6, 7)))
  x <- matrix(rnorm(70 * 90), 70)
  expect_identical(there_and_back(x, dtype = "f64"), x)
  expect_identical(there_and_back(c(TRUE, FALSE)), array(c(TRUE, FALSE), 2))
  expect_identical(there_and_back(matrix(c(TRUE, FALSE, FALSE), 1)), matrix(c(TRUE, FALSE, FALSE), 1))
  expect_identical(there_and_back(c(1i, 2 + 3i)), array(c(1i, 2 + 3i), 2))
  expect_identical(there_and_back(matrix(complex(6, 1:6, 7), 2), dtype = "c128"), matrix(complex(6, 1:6, 7), 2))
})

test_that("empty arrays keep their shape", {
  expect_identical(there_and_back(integer(0)), array(integer(0), 0))
  expect_identical(there_and_back(array(0, c(0, 3)), dtype = "f64"), array(0, c(0, 3)))
  expect_identical(shape(pjrt_buffer(array(0L, c(2, 0, 3)))), c(2L, 0L, 3L))
  expect_identical(as_raw(pjrt_buffer(integer(0)), row_major = TRUE), raw(0))
})

test_that("the dtype follows the type of the data unless it is named", {
  type <- function(x, ...) as.character(elt_type(pjrt_buffer(x, ...)))
  expect_identical(type(TRUE), "bool")
  expect_identical(type(1L), "i32")
  expect_identical(type(1), "f32")
  expect_identical(type(1i), "c64")
  expect_identical(type(bit64::as.integer64(1)), "i64")
  for (dtype in c("bool", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64",
                  "c64", "c128")) {
    expect_identical(type(1, dtype = dtype), dtype)
  }
  expect_identical(type(1, dtype = structure("f64", class = "DataType")), "f64")
  expect_identical(type(1, dtype = elt_type("f64")), "f64")
  expect_identical(type(TRUE, dtype = "pred"), "bool")
  expect_fault(type(1L, dtype = "bool"), "dtype", "expected any dtype but bool for integer data, got bool", "data")
  expect_fault(type(TRUE, dtype = "i32"), "dtype", "expected dtype bool for logical data, got i32")
  expect_fault(type(1i, dtype = "f32"), "dtype", "expected dtype c64 or c128")
  expect_fault(type(1, dtype = "float"), "unknown_dtype", "got \"float\"", "dtype")
  expect_fault(type(1, dtype = NA), "unknown_dtype", "got NA")
  expect_fault(type("a"), "type", "got a string", "data")
  expect_fault(type(structure(1L, class = "thing")), "type", "got a thing")
  expect_fault(type(NULL), "type", "got NULL")
  expect_fault(type(list(1)), "type", "got a list")
})

test_that("each dtype becomes its R type", {
  of <- function(dtype) there_and_back(c(0, 1, 100), dtype = dtype)
  for (dtype in c("i8", "i16", "i32", "ui8", "ui16")) {
    expect_identical(of(dtype), array(c(0L, 1L, 100L), 3))
  }
  for (dtype in c("f16", "bf16", "f32", "f64")) {
    expect_identical(of(dtype), array(c(0, 1, 100), 3))
  }
  for (dtype in c("i64", "ui32", "ui64")) {
    expect_s3_class(of(dtype), "integer64")
    expect_identical(as.character(of(dtype)), c("0", "1", "100"))
  }
  expect_identical(of("bool"), array(c(FALSE, TRUE, TRUE), 3))
  expect_identical(of("c64"), array(c(0i, 1, 100), 3))
})

test_that("integer64 keeps all its bits", {
  x <- bit64::as.integer64(c("9007199254740993", "-1", "9223372036854775807", "0"))
  back <- there_and_back(x)
  expect_identical(as.character(back), as.character(x))
  expect_identical(as.character(there_and_back(x, dtype = "ui64")), c("9007199254740993", "0", "9223372036854775807", "0"))
  m <- x
  dim(m) <- c(2, 2)
  expect_identical(unclass(there_and_back(m)), unclass(m))
  expect_identical(there_and_back(bit64::NA_integer64_, dtype = "f64"), array(NA_real_, 1))
})

test_that("without check a value becomes what is nearest", {
  expect_identical(c(there_and_back(c(300, -1, 1.9, NaN, Inf), dtype = "ui8")), c(255L, 0L, 1L, 0L, 255L))
  expect_identical(c(there_and_back(c(1e10, -1e10), dtype = "i16")), c(32767L, -32768L))
  expect_identical(c(there_and_back(c(70000L, NA), dtype = "i16")), c(32767L, -32768L))
  expect_identical(c(there_and_back(1e300)), Inf)
  expect_identical(c(there_and_back(NA)), TRUE)
  expect_identical(c(there_and_back(NA_integer_)), NA_integer_)
  expect_identical(c(there_and_back(NA_integer_, dtype = "f32")), NaN)
  expect_identical(c(there_and_back(NA_integer_, dtype = "f64")), NA_real_)
  expect_identical(c(there_and_back(c(0.5, 0, NaN), dtype = "bool")), c(TRUE, FALSE, TRUE))
})

test_that("doubles keep their bits in f64, NA too", {
  x <- c(NA, NaN, Inf, -Inf, -0, 5e-324, pi)
  back <- there_and_back(x, dtype = "f64")
  expect_identical(writeBin(c(back), raw()), writeBin(x, raw()))
  expect_identical(c(as_array(pjrt_buffer(x, dtype = "f64", check = TRUE))), x)
})

test_that("check refuses every value that would be lost", {
  lost <- function(x, dtype, message) {
    expect_fault(pjrt_buffer(x, dtype = dtype, check = TRUE), "value", message, "data")
  }
  lost(c(1, NA), "f32", "expected no missing values, which f32 does not hold, got NA as element 2")
  lost(NA, "bool", "NA as element 1")
  lost(c(1L, 2L, NA), "i32", "NA as element 3")
  lost(bit64::NA_integer64_, "i64", "NA as element 1")
  lost(1.5, "i32", "expected an integer from -2147483648 to 2147483647 (i32), got 1.5")
  lost(300, "ui8", "got 300")
  lost(-1L, "ui64", "got -1")
  lost(2, "bool", "expected 0 or 1")
  lost(1e300, "f32", "a magnitude of at most")
  expect_equal(c(there_and_back(0.1, check = TRUE)), 0.1, tolerance = 1e-7)
  expect_identical(c(there_and_back(c(NaN, Inf), check = TRUE)), c(NaN, Inf))
  expect_fault(as_array(pjrt_buffer(NA_integer_), check = TRUE), "value", "no i32 of -2147483648", "x")
  # Told by the place in R's order.
  matrix <- pjrt_buffer(matrix(c(1L, 2L, 3L, NA, 5L, 6L), 2))
  expect_fault(as_array(matrix, check = TRUE), "value", "does not hold, got one as element 4", "x")
  expect_fault(as_array(pjrt_buffer(2^63, dtype = "ui64"), check = TRUE), "value", "2^63 or more")
  expect_identical(c(as_array(pjrt_buffer(1:3), check = TRUE)), 1:3)
})

test_that("a shape is that of the data, or as asked for", {
  expect_identical(shape(pjrt_buffer(1)), 1L)
  expect_identical(shape(pjrt_scalar(1)), integer())
  expect_identical(as_array(pjrt_scalar(2L)), 2L)
  expect_identical(there_and_back(1:6, shape = c(2, 3)), matrix(1:6, 2, 3))
  expect_identical(there_and_back(7L, shape = c(2, 2)), matrix(7L, 2, 2))
  expect_identical(there_and_back(7L, shape = integer()), 7L)
  expect_identical(dim(pjrt_buffer(matrix(1, 2, 3))), 2:3)
  expect_fault(pjrt_buffer(1:6, shape = 5), "shape", "expected the shape of 6 elements, got (5)", "shape")
  expect_fault(pjrt_buffer(1:6, shape = -6), "value", "sizes that are not negative", "shape")
  expect_fault(pjrt_buffer(1:6, shape = 1.5), "value", "expected whole numbers, got 1.5 as element 1")
  expect_fault(pjrt_buffer(1:6, shape = "a"), "type", "expected whole numbers, got a string")
  expect_fault(pjrt_buffer(1, shape = c(1e9, 1e9, 1e9)), "shape", "a shape with few enough elements of f32")
  expect_fault(pjrt_scalar(1:2), "type", "expected one value, got 2", "data")
})

test_that("raw data holds the bytes of elements", {
  bytes <- as.raw(c(1, 0, 0, 0, 2, 0, 0, 0))
  expect_identical(c(as_array(pjrt_buffer(bytes, dtype = "i32", shape = 2, row_major = TRUE))), 1:2)
  six <- as.raw(1:6)
  rows <- pjrt_buffer(six, dtype = "i8", shape = 2:3, row_major = TRUE)
  columns <- pjrt_buffer(six, dtype = "i8", shape = 2:3, row_major = FALSE)
  expect_identical(as_array(rows), matrix(1:6, 2, byrow = TRUE))
  expect_identical(as_array(columns), matrix(1:6, 2))
  expect_identical(as_raw(rows, row_major = TRUE), six)
  expect_identical(as_raw(columns, row_major = FALSE), six)
  expect_identical(as_raw(columns, row_major = TRUE), as.raw(c(1, 3, 5, 2, 4, 6)))
  expect_identical(as_array(pjrt_scalar(as.raw(5), dtype = "ui8")), 5L)
  expect_fault(pjrt_buffer(six, dtype = "i32", shape = 2, row_major = TRUE), "shape", "expected 8 bytes", "data")
  expect_fault(pjrt_buffer(six, dtype = "bool", shape = 6, row_major = TRUE), "value", "bytes of 0 and 1")
})

test_that("an empty buffer is zeros", {
  expect_identical(as_array(pjrt_empty("i32", c(2, 2))), matrix(0L, 2, 2))
  expect_identical(as_array(pjrt_empty("bool", integer())), FALSE)
  expect_identical(device(pjrt_empty("f32", 3, "cpu:1")), pjrt_device("cpu:1"))
  expect_fault(pjrt_empty("f32", c(2^31, 2^31, 2^31)), "shape", "a shape with few enough elements of f32")
  expect_fault(pjrt_empty("f32", c(2^31, 2^28)), "shape", "with few enough elements")
})

test_that("a buffer lives on a device", {
  x <- pjrt_buffer(1:3, device = "cpu:1")
  expect_identical(device(x), pjrt_device("cpu:1"))
  expect_identical(platform(x), "cpu")
  y <- copy_buffer(x, pjrt_device("cpu:0"))
  expect_identical(device(y), pjrt_device("cpu:0"))
  expect_identical(c(as_array(y)), 1:3)
  expect_identical(copy_buffer(x, "cpu:1"), x)
  expect_fault(copy_buffer(1, "cpu"), "type", "expected a PJRTBuffer, got a double value", "buffer")
})

test_that("a buffer as data is returned as it is, if it is what is asked for", {
  x <- pjrt_buffer(1:3)
  expect_identical(pjrt_buffer(x), x)
  expect_identical(pjrt_buffer(x, "i32", "cpu:0", 3), x)
  expect_fault(pjrt_buffer(x, "f32"), "dtype", "expected a buffer of dtype f32, got one of i32", "data")
  expect_fault(pjrt_buffer(x, shape = 1:2), "shape", "expected a buffer of shape (1, 2), got one of (3)")
  expect_fault(pjrt_buffer(x, device = "cpu:1"), "device", "expected a buffer of device cpu:1, got one of cpu:0")
})

test_that("a buffer has its own copy of the data", {
  x <- runif(1e5)
  first <- x[1]
  buffer <- pjrt_buffer(x, dtype = "f64")
  x[1] <- -1
  expect_identical(as_array(buffer)[1], first)
  rm(x)
  gc()
  expect_identical(as_array(buffer)[1], first)
})

test_that("dtype is a DataType, elt_type an element type", {
  x <- pjrt_buffer(1, dtype = "ui8")
  expect_identical(dtype(x), structure("ui8", class = "DataType"))
  expect_true(elt_type(x) == "ui8")
  expect_true(elt_type(x) != elt_type("f32"))
  expect_identical(as.character(elt_type(x)), "ui8")
  expect_output(print(elt_type(x)), "<ui8>", fixed = TRUE)
})

test_that("waiting and promises", {
  x <- pjrt_buffer(1:3)
  expect_identical(await(x), x)
  expect_true(is_ready(x))
  promise <- as_array_async(x)
  expect_s3_class(promise, "PJRTArrayPromise")
  expect_identical(await(promise), promise)
  expect_true(is_ready(promise))
  expect_identical(value(promise), array(1:3, 3))
  expect_identical(format(promise), "<PJRTArrayPromise i32[3] on cpu:0>")
  expect_fault(value(structure(list(), class = "PJRTArrayPromise")), "type", "expected a PJRTArrayPromise")
})

test_that("a released buffer is gone, and says so", {
  x <- pjrt_buffer(1:3)
  promise <- as_array_async(x)
  expect_identical(release(x), x)
  expect_fault(as_array(x), "dead", "expected a PJRTBuffer that is alive, got one that was released", "x")
  expect_identical(release(x), x)
  expect_identical(format(x), "<PJRTBuffer without content>")
  expect_output(print(x), "<PJRTBuffer without content>", fixed = TRUE)
  expect_identical(c(value(promise)), 1:3)
})

test_that("a buffer of another process is one from another session", {
  file <- tempfile()
  on.exit(unlink(file))
  run_r(sprintf("saveRDS(list(pjrt_buffer(1), release(pjrt_buffer(1))), '%s')", file))
  x <- readRDS(file)
  expect_fault(as_array(x[[1]]), "dead", "one from another session", "x")
  expect_fault(as_array(x[[2]]), "dead", "expected a PJRTBuffer that is alive", "x")
  expect_output(print(x[[1]]), "<PJRTBuffer without content>", fixed = TRUE)
})

test_that("a handle that is no buffer is refused", {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(pjrt_buffer(1), file)
  expect_fault(as_array(readRDS(file)), "dead", "one from another session", "x")
  expect_fault(shape(structure(1, class = "PJRTBuffer")), "type", "expected a PJRTBuffer")
  x <- pjrt_buffer(1)
  class(x) <- c("mine", "PJRTBuffer")
  expect_identical(as_array(x), array(1, 1))
  stray <- pjrt_buffer(1)
  class(stray) <- NULL
  expect_fault(rs_buffer_shape(stray), "type", "without its class")
  pretender <- pjrt_buffer(1)
  class(pretender) <- "PJRTDevice"
  expect_fault(format(pretender), "type", "expected a PJRTDevice")
})

test_that("dropped buffers are collected without being asked to", {
  gc()
  before <- rs_live_bytes()
  most <- 0
  for (i in 1:300) {
    pjrt_empty("f64", 1e6)
    most <- max(most, rs_live_bytes())
  }
  expect_lt(most - before, 600e6)
})

test_that("an argument that there is not is not passed over", {
  expect_fault(pjrt_buffer(1, dtpye = "f64"), "argument", "argument `dtpye`: there is no argument of this name", "dtpye")
  expect_fault(pjrt_buffer(1, "f64", NULL, 1, FALSE, "more"), "argument", "expected nothing more, got a string", "...")
  expect_fault(pjrt_buffer(bit64::as.integer64(1), shpae = 1), "argument", "no argument of this name", "shpae")
  expect_fault(pjrt_scalar(1, shape = 2), "argument", "no argument of this name", "shape")
  expect_fault(pjrt_buffer(as.raw(1), "ui8", shape = 1, row_major = TRUE), "argument", "nothing more", "...")
  expect_fault(as_array(pjrt_buffer(1), chek = TRUE), "argument", "no argument of this name", "chek")
  bytes <- pjrt_buffer(as.raw(1), dtype = "ui8", shape = 1, row_major = TRUE, check = TRUE)
  expect_identical(c(as_array(bytes)), 1L)
})

test_that("raw data has to say what it is", {
  condition <- expect_fault(pjrt_buffer(as.raw(1)), "type", "argument `dtype`: raw data needs it, by its name", "dtype")
  expect_identical(condition$call, quote(pjrt_buffer(as.raw(1))))
  expect_fault(pjrt_buffer(as.raw(1), dtype = "ui8"), "type", "raw data needs it", "shape")
  expect_fault(pjrt_buffer(as.raw(1), dtype = "ui8", shape = 1), "type", "raw data needs it", "row_major")
  expect_fault(pjrt_scalar(as.raw(1)), "type", "raw data needs it", "dtype")
})

test_that("an argument that is missing is told with the user's call", {
  missing_in <- function(expr) as.character(conditionCall(condition_of(expr))[[1]])
  expect_identical(missing_in(pjrt_empty("f32")), "pjrt_empty")
  expect_identical(missing_in(copy_buffer(pjrt_buffer(1))), "copy_buffer")
  expect_identical(missing_in(dispatcher(3)), "dispatcher")
  expect_identical(missing_in(dispatch(3)), "dispatch")
  expect_identical(missing_in(tree_path(build_tree(1))), "tree_path")
})

test_that("missing integers stay missing in i64, and become what the help says elsewhere", {
  read <- function(data, dtype) c(format_buffer(pjrt_buffer(data, dtype = dtype)))
  expect_identical(read(c(NA, 1L), "i64"), c("-9223372036854775808", "1"))
  for (dtype in c("ui8", "ui16", "ui32", "ui64")) expect_identical(read(NA_integer_, dtype), "0")
  expect_identical(read(NA_integer_, "i8"), "-128")
  for (dtype in c("i8", "i32", "i64", "ui8")) expect_identical(read(c(NA, NaN), dtype), c("0", "0"))
  skip_if_not_installed("bit64")
  expect_identical(c(as_array(pjrt_buffer(c(NA, 1L), dtype = "i64"))), bit64::as.integer64(c(NA, 1)))
})

test_that("all.equal() compares dtype, shape and values of buffers", {
  x <- pjrt_buffer(c(1, 2, 3))
  expect_identical(all.equal(x, pjrt_buffer(c(1, 2, 3))), TRUE)
  expect_identical(all.equal(x, pjrt_buffer(c(1, 2, 3), device = "cpu:1")), TRUE)
  expect_match(all.equal(x, pjrt_buffer(c(1, 2, 4))), "difference")
  expect_identical(all.equal(x, pjrt_buffer(1:3)), "dtype: target is f32, current is i32")
  expect_identical(all.equal(x, pjrt_buffer(matrix(c(1, 2, 3)))), "shape: target is (3), current is (3, 1)")
  expect_identical(all.equal(x, 1), "target is a PJRTBuffer, current is a double value")
  expect_identical(all.equal(x, pjrt_buffer(c(1, 2, 3.001)), tolerance = 0.01), TRUE)
  wide <- function(text) pjrt_buffer(text, dtype = "i64")
  expect_identical(all.equal(wide(c(1, 2^60)), wide(c(1, 2^60))), TRUE)
  expect_match(all.equal(wide(c(1, 2^60)), wide(c(1, 2^60 + 512))), "1 string mismatch")
})

test_that("64-bit integers come with the package that prints them", {
  skip_if_not_installed("bit64")
  code <- c(
    "x <- pjrt_buffer(c(1, 2), 'i64'); cat(isNamespaceLoaded('bit64'), '')",
    "cat(format(value(as_array_async(x))), isNamespaceLoaded('bit64'), sum(as_array(x)) == 3)"
  )
  expect_identical(run_r(code)$out, "FALSE 1 2 TRUE TRUE")
})

test_that("a shape for which there is no memory is told", {
  expected <- "argument `shape`: expected a shape with few enough elements of f32 for the memory of the host, got ("
  expect_fault(pjrt_empty("f32", c(1e10, 1e10)), "shape", paste0(expected, "10000000000, 10000000000)"), "shape")
  expect_fault(pjrt_buffer(0, shape = c(1e10, 1e10)), "shape", expected, "shape")
})

test_that("an AnvlArray where a buffer has to be is told where its buffer is", {
  x <- structure(list(data = pjrt_buffer(1), backend = "pjrt"), class = "AnvlArray")
  hint <- "expected a PJRTBuffer, got an AnvlArray, whose buffer is its `$data`"
  expect_fault(copy_buffer(x, "cpu"), "type", hint, "buffer")
  expect_fault(pjrt_execute(echo_program("f32", list(1L)), x), "type", hint, "...[[1]]")
})
