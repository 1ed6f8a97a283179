on_device <- function(x, dtype = NULL) as_array(pjrt_buffer(x, dtype))

# A file of these values.
file_of <- function(values, size = 8) {
  path <- tempfile()
  writeBin(values, path, size = size)
  path
}

test_that("a file is an array of the given layout", {
  path <- file_of(as.double(1:6))
  x <- mmap_array(path, "f64", c(2, 3))
  expect_s3_class(x, "MappedArray", exact = TRUE)
  expect_identical(list(dim(x), length(x)), list(2:3, 6L))
  expect_identical(format(x), sprintf("<MappedArray f64[2,3] of \"%s\">", path))
  expect_output(print(x), "<MappedArray f64[2,3]", fixed = TRUE)
  expect_identical(bytes_for("MappedArray", expect_identical(on_device(x), matrix(1:6 + 0, 2, byrow = TRUE))), 48)
  columns <- mmap_array(path, "f64", c(2, 3), row_major = FALSE)
  expect_identical(bytes_for("MappedArray", expect_identical(on_device(columns), matrix(1:6 + 0, 2))), 48)
  expect_identical(as.vector(on_device(mmap_array(path, "f64", 2, offset = 16))), c(3, 4))
  small <- mmap_array(file_of(1:4, size = 2), "i16", 4)
  expect_identical(as.vector(on_device(small)), 1:4)
  expect_identical(dim(on_device(mmap_array(path, "f64", c(0, 3)))), c(0L, 3L))
})

test_that("a file that is declared immutable is shared, if it is aligned and row-major", {
  path <- file_of(as.double(1:100))
  shared <- mmap_array(path, "f64", 100, immutable = TRUE)
  expect_identical(bytes_for("MappedArray", buffer <- with_copy("never", pjrt_buffer(shared))), 0)
  # The file and the object may go: the mapping stays.
  unlink(path)
  rm(shared)
  gc()
  expect_identical(as.vector(as_array(buffer)), as.double(1:100))
  path <- file_of(as.double(1:100))
  never <- function(...) with_copy("never", pjrt_buffer(mmap_array(path, "f64", ...)))
  expect_fault(never(100), "converter", "its data is not declared immutable", "data")
  expect_fault(never(99, offset = 8, immutable = TRUE), "converter", "multiple of 64 bytes", "data")
  expect_fault(never(c(10, 10), row_major = FALSE, immutable = TRUE), "converter", "not row-major", "data")
  expect_fault(mmap_array(path, "f64", 1, immutable = TRUE, writable = TRUE), "value", "a file that is written to")
})

test_that("a file that is missing, too short, or becomes shorter is an error", {
  expect_fault(mmap_array(tempfile(), "f64", 1), "file", "a file that can be read", "path")
  path <- file_of(as.double(1:6))
  expect_fault(mmap_array(path, "f64", 7), "file", "at least 56 bytes, got", "path")
  expect_fault(mmap_array(path, "f64", 2, offset = 40), "file", "at least 56 bytes, got", "path")
  expect_fault(mmap_array(path, "f64", 2, offset = 4), "value", "expected a multiple of 8 bytes", "offset")
  x <- mmap_array(path, "f64", 6)
  writeBin(1, path)
  expect_fault(on_device(x), "file", "the 48 bytes that the file had when it was mapped")
  other <- mmap_array(path, "f64", 1)
  unlink(path)
  writeBin(2, path)
  expect_identical(as.vector(on_device(other)), 1)
})

test_that("results are written back into a file that is writable", {
  path <- file_of(as.double(1:6))
  x <- mmap_array(path, "f64", c(2, 3), writable = TRUE)
  expect_match(format(x), "writable")
  expect_identical(convert_out("MappedArray", pjrt_buffer(matrix(6:1, 2), "f64"), x), x)
  expect_identical(readBin(path, "double", 6), c(6, 4, 2, 5, 3, 1))
  columns <- mmap_array(path, "f64", c(2, 3), row_major = FALSE, writable = TRUE)
  convert_out("MappedArray", pjrt_buffer(matrix(1:6, 2)), columns)
  expect_identical(readBin(path, "double", 6), c(1, 2, 3, 4, 5, 6))
  closed <- mmap_array(path, "f64", c(2, 3))
  expect_error(convert_out("MappedArray", pjrt_buffer(matrix(6:1, 2), "f64"), closed), "read-only")
  expect_error(convert_out("MappedArray", pjrt_buffer(1:3), x), "a result of shape (2, 3)", fixed = TRUE)
  writeBin(1, path)
  expect_error(convert_out("MappedArray", pjrt_buffer(matrix(6:1, 2), "f64"), x), "the file had when it was mapped")
})

test_that("a file that changes after a call has not changed what the call got", {
  path <- file_of(as.double(1:1e5))
  x <- mmap_array(path, "f64", 1e5)
  buffer <- pjrt_buffer(x)
  writeBin(rep(0, 1e5), path)
  rm(x)
  gc()
  expect_identical(as.vector(as_array(buffer)), as.double(1:1e5))
})
