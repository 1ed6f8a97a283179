skip_if_not_installed("families")

test_that("functions made of Rust write results back into dates, files, data sets and arrays of numpy, once", {
  day <- as.Date("2024-02-28")
  expect_identical(families::add_to(day, 1), day + 1)
  path <- tempfile()
  writeBin(c(1, 2, 3), path)
  mapped <- mmap_array(path, "f64", 3, writable = TRUE)
  expect_identical(families::add_to(mapped, c(10, 20, 30)), mapped)
  expect_identical(readBin(path, "double", 3), c(11, 22, 33))
  use_package("hdf5r")
  file <- hdf5r::H5File$new(tempfile(fileext = ".h5"), "w")
  on.exit(file$close_all())
  file[["x"]] <- c(1, 2, 3)
  data <- file[["x"]]
  expect_identical(families::add_to(data, data$read()), data)
  expect_identical(data$read(), c(2, 4, 6))
  np <- use_numpy()
  x <- np$arange(3, dtype = "f8")
  expect_identical(families::add_to(x, c(1, 1, 1)), x)
  expect_identical(as.vector(reticulate::py_to_r(x)), c(1, 2, 3))
  expect_fault(families::add_to(x, x), "converter", "written back into the object, which is passed as `y` too", "x")
})

test_that("a part of a file, or of an array of numpy, that is written into is no other argument too", {
  path <- tempfile()
  writeBin(as.double(1:6), path)
  part <- function(from, path, ...) mmap_array(path, "f64", 3, offset = 8 * from, ...)
  x <- part(0, path, writable = TRUE)
  link <- tempfile()
  file.symlink(path, link)
  reason <- "whose memory is that of the object passed as `y` too"
  expect_fault(families::add_to(x, part(2, link)), "converter", reason, "x")
  expect_fault(families::swap(x, part(1, path, writable = TRUE)), "converter", reason, "x")
  expect_identical(readBin(path, "double", 6), as.double(1:6))
  families::add_to(x, part(3, link))
  expect_identical(readBin(path, "double", 6), c(5, 7, 9, 4, 5, 6))

  np <- use_numpy()
  all <- np$arange(6, dtype = "f8")
  slice <- reticulate::import_builtins(convert = FALSE)$slice
  part <- function(...) reticulate::py_get_item(all, slice(...))
  expect_fault(families::add_to(part(0L, 3L), part(2L, 5L)), "converter", reason, "x")
  families::add_to(part(0L, 6L, 2L), part(1L, 6L, 2L))
  expect_identical(as.vector(reticulate::py_to_r(all)), c(1, 1, 5, 3, 9, 5))
  windows <- np$lib$stride_tricks$as_strided(all, shape = reticulate::tuple(3L), strides = reticulate::tuple(0L))
  expect_fault(families::add_to(windows, c(1, 1, 1)), "converter", "elements that share memory", "x")
})

test_that("results are written back into an integer64, which is data without a converter too", {
  x <- bit64::as.integer64(c(a = 1, b = 2))
  expect_identical(families::add_to(x, c(10, 20)), bit64::as.integer64(c(a = 11, b = 22)))
  expect_fault(families::add_to(x, x), "converter", "written back into the object, which is passed as `y` too", "x")
  # Where nothing is written back it needs none.
  expect_identical(as_array(families::sum_of(x, x)), bit64::as.integer64(6))
  was <- set_converter_status("bit64::integer64", FALSE)
  on.exit(set_converter_status("bit64::integer64", was))
  expect_identical(as.vector(as_array(families::add_to(x, c(10, 20)))), c(11, 22))
  # Then nothing is written into it, so it may be passed twice.
  expect_identical(as.vector(as_array(families::add_to(x, x))), c(2, 4))
})

test_that("a source that is read-only is refused", {
  path <- tempfile()
  writeBin(c(1, 2, 3), path)
  expect_fault(families::add_to(mmap_array(path, "f64", 3), c(1, 1, 1)), "converter", "read-only", "x")
  expect_identical(readBin(path, "double", 3), c(1, 2, 3))
  np <- use_numpy()
  x <- np$arange(3, dtype = "f8")
  x$setflags(write = FALSE)
  expect_fault(families::add_to(x, c(1, 1, 1)), "converter", "read-only", "x")
})

test_that("functions made of Rust convert what comes to the dtype that they declare", {
  whole <- structure(19000L, class = "Date")
  expect_identical(as.vector(as_array(families::add_to(c(0.5, 1), c(1, 1)))), c(1.5, 2))
  expect_identical(unclass(families::add_to(whole, 1)), 19001)
  use_package("bit64")
  wide <- bit64::as.integer64(c(1, NA))
  expect_identical(as.vector(as_array(families::add_to(c(1, 1), wide))), c(2, NA))
})
