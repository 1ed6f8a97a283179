# Objects as arguments of dispatchers of another backend, which want data of R: views are read.
leaves_of <- function(...) plain(fun = identity, move_inputs = TRUE, ...)$d
# What such a dispatcher gets for an object, or for what a converter gives.
leaf <- function(x) dispatch(leaves_of(), list(x = x))[[1]]
object <- structure(list(), class = "converted")
giving <- function(value, expr, ...) with_converter("converted", function(x, expected) value, expr, description = "D", ...)
given <- function(value) giving(value, leaf(object))

test_that("times and factors are data of R", {
  days <- as.Date(c("2022-01-08", NA, "1969-12-31"))
  expect_identical(leaf(days), array(as.double(unclass(days))))
  expect_identical(leaf(structure(19000:19001, class = "Date")), array(19000:19001))
  times <- as.POSIXct("2022-01-08 10:00:00.5", tz = "UTC") + 0:1
  expect_identical(leaf(times), array(as.double(times)))
  expect_identical(leaf(as.difftime(c(1.5, 2), units = "mins")), array(c(1.5, 2)))
  expect_identical(leaf(factor(c("b", "a", "b"))), array(c(2L, 1L, 2L)))
})

test_that("data frames are matrices", {
  expect_identical(leaf(data.frame(a = c(1, 2), b = c(NA, 4))), matrix(c(1, 2, NA, 4), 2))
  expect_identical(leaf(data.frame(a = 1:3)), matrix(c(1, 2, 3)))
  expect_identical(leaf(data.frame()), matrix(0, 0, 0))
})

test_that("matrices of Matrix are matrices of R", {
  use_package("Matrix")
  x <- matrix(c(1.5, 2, 3, 4, 0, 6), 2)
  expect_identical(leaf(Matrix::Matrix(x, sparse = FALSE)), x)
  sparse <- Matrix::Matrix(c(0, 1, 0, 0, 2, 0), 2, sparse = TRUE)
  expect_fault(leaf(sparse), "converter", "to make this dgCMatrix dense takes 48 bytes, and it may not copy", "x")
  expect_identical(with_copy("if_needed", leaf(sparse)), matrix(c(0, 1, 0, 0, 2, 0), 2))
  expect_identical(with_copy("if_needed", leaf(sparse != 0)), matrix(c(FALSE, TRUE, FALSE, FALSE, TRUE, FALSE), 2))
})

test_that("a big.matrix is read from where it lies", {
  use_package("bigmemory")
  x <- bigmemory::as.big.matrix(matrix(1:6 + 0.5, 3), type = "double")
  expect_identical(bytes_for("bigmemory::big.matrix", got <- leaf(x)), 48)
  expect_identical(got, matrix(1:6 + 0.5, 3))
  expect_identical(leaf(bigmemory::sub.big.matrix(x, firstRow = 2)), matrix(1:6 + 0.5, 3)[2:3, ])
  expect_identical(leaf(bigmemory::as.big.matrix(matrix(c(1L, NA, 3L, 4L), 2), type = "integer")), matrix(c(1L, NA, 3L, 4L), 2))
  short <- bigmemory::big.matrix(2, 2, type = "short", init = 7)
  expect_identical(leaf(short), matrix(7L, 2, 2))
  separated <- bigmemory::as.big.matrix(matrix(1:4 + 0, 2), separated = TRUE)
  expect_identical(leaf(separated), matrix(1:4 + 0, 2))
})

test_that("arrays of numpy are arrays of R, whatever their order", {
  np <- use_numpy()
  expect_identical(leaf(np$arange(6, dtype = "float64")$reshape(2L, 3L)), matrix(0:5 + 0, 2, byrow = TRUE))
  expect_identical(leaf(np$asfortranarray(np$arange(6, dtype = "float32")$reshape(2L, 3L))), matrix(0:5 + 0, 2, byrow = TRUE))
  expect_identical(leaf(np$arange(3, dtype = "int32")), array(0:2))
  expect_fault(leaf(np$arange(3, dtype = "int64")), "converter", "the converter `reticulate::numpy.ndarray` gave dtype i64", "x")
})

test_that("data sets of hdf5r are read", {
  use_package("hdf5r")
  file <- hdf5r::H5File$new(tempfile(fileext = ".h5"), "w")
  file[["x"]] <- matrix(1:6 + 0.5, 2)
  expect_identical(leaf(file[["x"]]), matrix(1:6 + 0.5, 2))
  file$close_all()
})

test_that("mapped files are read, and one that became too short is an error", {
  path <- tempfile()
  writeBin(as.double(1:6), path)
  expect_identical(leaf(mmap_array(path, "f64", c(2, 3))), matrix(as.double(1:6), 2, byrow = TRUE))
  x <- mmap_array(path, "f64", c(2, 3), immutable = TRUE)
  expect_identical(leaf(x), matrix(as.double(1:6), 2, byrow = TRUE))
  expect_fault(with_copy("never", leaf(x)), "converter", "may not copy", "x")
  writeBin(as.double(1:2), path)
  expect_fault(leaf(x), "file", "the file had when it was mapped, got", "x")
})

test_that("every dtype that logical, integer and double data has is read, and another one is named", {
  raws <- function(values, size) writeBin(values, raw(), size = size)
  seen <- function(bytes, dtype, n = 2) given(host_view(bytes, dtype, shape = n))
  expect_identical(seen(as.raw(c(1, 0)), "bool"), array(c(TRUE, FALSE)))
  expect_identical(seen(raws(c(-3L, 5L), 1), "i8"), array(c(-3L, 5L)))
  expect_identical(seen(as.raw(c(253, 5)), "ui8"), array(c(253L, 5L)))
  expect_identical(seen(raws(c(-300L, 5L), 2), "i16"), array(c(-300L, 5L)))
  expect_identical(seen(as.raw(c(255, 255, 5, 0)), "ui16"), array(c(65535L, 5L)))
  expect_identical(seen(raws(c(-70000L, 5L), 4), "i32"), array(c(-70000L, 5L)))
  expect_identical(seen(raws(c(0.1, 5), 4), "f32"), array(c(readBin(raws(0.1, 4), "double", size = 4), 5)))
  expect_identical(seen(raws(c(0.1, 5), 8), "f64"), array(c(0.1, 5)))
  expect_identical(seen(as.raw(c(0, 0x3c, 0, 0xc0)), "f16"), array(c(1, -2)))
  expect_identical(seen(as.raw(c(0x80, 0x3f, 0, 0xc0)), "bf16"), array(c(1, -2)))
  # What R has for NA is NA.
  expect_identical(given(host_view(c(1L, NA), "i32")), array(c(1L, NA)))
  for (dtype in c("i64", "ui32", "ui64", "c64", "c128")) {
    expect_fault(
      seen(raw(32), dtype), "converter",
      sprintf("the converter `D` gave dtype %s, and a backend other than \"pjrt\" takes what is logical, integer or double in R", dtype),
      "x"
    )
  }
  wide <- structure(c(1, 2), class = "integer64")
  expect_fault(leaf(wide), "converter", "the converter `bit64::integer64` gave dtype i64", "x")
  expect_fault(given(host_view(as.raw(2), "bool", shape = 1)), "value", "bytes of 0 and 1", "x")
})

test_that("elements are in R's order, however they lie", {
  x <- array(as.double(1:120), c(4, 5, 6))
  rows <- aperm(x)
  expect_identical(given(host_view(x, "f64")), x)
  expect_identical(given(host_view(rows, "f64", shape = c(4, 5, 6), strides = c(30, 6, 1))), x)
  expect_identical(given(host_view(x, "f64", shape = c(5, 4, 6), strides = c(4, 1, 20))), aperm(x, c(2, 1, 3)))
  expect_identical(given(host_view(x, "f64", shape = c(2, 3), strides = c(-2, 20), offset = 3)), x[c(4, 2), 1, 1:3])
  expect_identical(given(host_view(1:10, "i32", shape = 4, strides = -3, offset = 9)), array(c(10L, 7L, 4L, 1L)))
  expect_identical(given(host_view(1:2, "i32", shape = c(2, 3), strides = c(1, 0))), matrix(1:2, 2, 3))
  large <- matrix(stats::rnorm(70 * 131), 70)
  expect_identical(given(host_view(t(large), "f64", shape = dim(large), strides = c(131, 1))), large)
  expect_identical(given(host_view(numeric(), "f64", shape = c(0, 3))), matrix(0, 0, 3))
  filled <- host_fill("f32", c(4, 5, 6))
  fill(filled, x)
  expect_identical(given(filled), x)
  expect_fault(given(host_fill("f32", 2)), "value", "0 of 2 elements are filled in", "x")
})

test_that("the key is made of what was read, and the callback sees it", {
  p <- plain(fun = function(leaves) sum(leaves[[1]]), move_inputs = TRUE)
  expect_identical(dispatch(p$d, list(x = data.frame(a = c(1, 2)))), 3)
  expect_identical(dispatch(p$d, list(x = data.frame(a = c(5, 6)))), 11)
  expect_identical(dispatch(p$d, list(x = matrix(c(1, 1)))), 2)
  expect_identical(compiles(p$d), 1L)
  expect_identical(p$infos()[[1]]$args, list(x = matrix(c(1, 2))))
  expect_identical(p$infos()[[1]]$avals, list(list(kind = "rdata", dtype = "double", shape = 2:1)))
  expect_identical(dispatch(p$d, list(x = data.frame(a = 1, b = 2))), 3)
  expect_identical(compiles(p$d), 2L)
  # A view without dimensions is a scalar.
  expect_identical(giving(host_view(7, "f64", shape = integer()), dispatch(p$d, list(x = object))), 7)
  expect_identical(p$infos()[[3]]$avals[[1]]$shape, integer())
  expect_identical(dispatch(p$d, list(x = 8)), 8)
  expect_identical(compiles(p$d), 3L)
  asked <- NULL
  with_converter("converted", function(x, expected) {
    asked <<- expected
    host_view(1, "f64")
  }, dispatch(p$d, list(b = list(object))))
  expect_identical(asked, list(dtype = NULL, shape = NULL, path = "b[[1]]", copy = "if_needed"))
})

test_that("what is read is a copy: counted, an error where none is allowed, and not changed by what happens to the source", {
  expect_identical(bytes_for("Date", leaf(as.Date("2022-01-08") + 0:9)), 80)
  # Filled in, and read.
  expect_identical(bytes_for("data.frame", leaf(data.frame(a = c(1, 2)))), 32)
  fault <- expect_fault(
    with_copy("never", leaf(as.Date("2022-01-08"))), "converter",
    "the converter `Date` may not copy, but a backend other than \"pjrt\" takes data of R, which is a copy", "x"
  )
  expect_identical(fault$call, quote(dispatch(leaves_of(), list(x = x))))
  path <- tempfile()
  writeBin(as.double(1:2), path)
  x <- mmap_array(path, "f64", 2, writable = TRUE)
  got <- leaf(x)
  pjrtdispatch:::convert_out_mapped(c(8, 9), x, list())
  expect_identical(got, array(c(1, 2)))
  expect_identical(leaf(x), array(c(8, 9)))
})

test_that("a buffer is refused, and the error says of which backend it is", {
  expect_fault(
    given(pjrt_buffer(1)), "type",
    "got a PJRTBuffer, which is of backend \"pjrt\", given by the converter `D`", "x"
  )
})

test_that("an array of its own backend is taken", {
  expect_identical(given(plain_array(matrix(1:4 + 0, 2))), matrix(1:4 + 0, 2))
})

test_that("no client is started for data of R", {
  out <- run_r(c(
    "d <- dispatcher(4, function(info) list(r_fun = function(leaves) sum(leaves[[1]])), backend = 'plain',",
    "  default_device = function() 'here', extractor = identity)",
    "cat(dispatch(d, list(as.Date('1970-01-03') + 0:1)))"
  ), env = "PJRT_PLUGIN_PATH_CPU=none")
  expect_identical(out$out, "5", info = out$err)
})

test_that("views are read right while R collects all the time", {
  x <- matrix(as.double(1:12), 3)
  expect_same_when_tortured(function() list(given(host_view(t(x), "f64", dim(x), c(4, 1))), leaf(data.frame(a = c(1, 2)))))
})
