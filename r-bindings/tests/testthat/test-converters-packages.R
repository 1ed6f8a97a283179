on_device <- function(x, dtype = NULL) as_array(pjrt_buffer(x, dtype))

test_that("integer64 is R data as before, and comes back as one", {
  use_package("bit64")
  x <- bit64::as.integer64(c(1, 2^40))
  names(x) <- c("a", "b")
  expect_identical(as.character(dtype(pjrt_buffer(x))), "i64")
  expect_identical(convert_in("integer64", x, "f32"), x)
  expect_identical(values_of(convert_in("integer64", x)), as_array(pjrt_buffer(x)))
  expect_identical(convert_out("integer64", pjrt_buffer(x), x), x)
  expect_s3_class(convert_out("integer64", pjrt_buffer(1:2), x), "integer64")
})

test_that("a dense Matrix is read where it lies", {
  use_package("Matrix")
  x <- Matrix::Matrix(matrix(c(1, 2, 3, 4, 5, 6.5), 2), sparse = FALSE)
  expect_s4_class(x, "dgeMatrix")
  expect_identical(bytes_for("Matrix::denseMatrix", expect_identical(on_device(x), as.matrix(x))), 48)
  symmetric <- Matrix::Matrix(matrix(c(1, 2, 2, 5), 2), sparse = FALSE)
  triangular <- Matrix::triu(Matrix::Matrix(matrix(c(1, 2, 3, 5), 2), sparse = FALSE))
  for (other in list(symmetric, triangular)) expect_identical(on_device(other), unname(as.matrix(other)))
  expect_identical(on_device(x > 2), unname(as.matrix(x > 2)))
  back <- convert_out("denseMatrix", pjrt_buffer(as.matrix(x) * 2, "f64"), x)
  expect_identical(as.matrix(back), as.matrix(x) * 2)
  expect_s4_class(back, "dgeMatrix")
  expect_fault(with_copy("never", on_device(x)), "converter", "its data is not row-major (strides [1,2])", "data")
})

test_that("a sparse Matrix is made dense only where that is allowed", {
  use_package("Matrix")
  x <- Matrix::sparseMatrix(i = c(1, 3), j = c(2, 5), x = c(1.5, 2), dims = c(300, 2000))
  condition <- expect_fault(on_device(x), "converter", "to make this dgCMatrix dense takes 4800000 bytes", "data")
  expect_match(conditionMessage(condition), "with_copy(\"if_needed\", ...)", fixed = TRUE)
  expect_identical(bytes_for("Matrix::sparseMatrix", {
    expect_identical(with_copy("if_needed", on_device(x)), unname(as.matrix(x)))
  }), 4800000)
  pattern <- Matrix::sparseMatrix(i = 1:2, j = 2:1)
  expect_identical(with_copy("if_needed", on_device(pattern)), matrix(c(FALSE, TRUE, TRUE, FALSE), 2))
  expect_identical(with_copy("if_needed", on_device(Matrix::Diagonal(2))), diag(2))
  back <- convert_out("sparseMatrix", pjrt_buffer(diag(3), "f64"), x)
  expect_s4_class(back, "sparseMatrix")
})

test_that("a big.matrix is read from its shared memory", {
  use_package("bigmemory")
  m <- matrix(stats::rnorm(12), 3)
  x <- bigmemory::as.big.matrix(m)
  expect_identical(bytes_for("bigmemory::big.matrix", expect_identical(on_device(x), m)), 96)
  part <- bigmemory::sub.big.matrix(x, firstRow = 2, lastRow = 3, firstCol = 2, lastCol = 3)
  expect_identical(bytes_for("bigmemory::big.matrix", expect_identical(on_device(part), m[2:3, 2:3])), 32)
  expect_fault(with_copy("never", on_device(x)), "converter", "its data is not row-major (strides [1,3])", "data")
  column <- bigmemory::sub.big.matrix(x, firstCol = 2, lastCol = 2)
  expect_fault(with_copy("never", on_device(column)), "converter", "does not begin at a multiple of 64 bytes")
  first <- bigmemory::sub.big.matrix(x, lastCol = 1)
  expect_fault(with_copy("never", on_device(first)), "converter", "its data is not declared immutable")
})

test_that("a big.matrix of any type, in a file or in columns of their own", {
  use_package("bigmemory")
  old <- options(bigmemory.typecast.warning = FALSE, bigmemory.allow.dimnames = TRUE)
  on.exit(options(old))
  values <- matrix(1:6, 2)
  for (type in c("char", "short", "integer", "float", "double")) {
    dtype <- c(char = "i8", short = "i16", integer = "i32", float = "f32", double = "f64")[[type]]
    for (separated in c(FALSE, TRUE)) {
      x <- bigmemory::as.big.matrix(values, type = type, separated = separated)
      buffer <- pjrt_buffer(x)
      expect_identical(as.character(dtype(buffer)), dtype)
      expect_equal(as_array(buffer), values)
    }
  }
  folder <- tempfile()
  dir.create(folder)
  x <- bigmemory::filebacked.big.matrix(2, 3, "double",
    backingfile = "x.bin", descriptorfile = "x.desc", backingpath = folder
  )
  x[, ] <- values + 0.5
  expect_identical(on_device(x), values + 0.5)
  own <- bigmemory::big.matrix(2, 3, "double", shared = FALSE)
  own[, ] <- values + 0.25
  expect_identical(on_device(own), values + 0.25)
})

test_that("results are written back into a big.matrix, once, and not into one that is read-only", {
  use_package("bigmemory")
  old <- options(bigmemory.typecast.warning = FALSE)
  on.exit(options(old))
  for (separated in c(FALSE, TRUE)) {
    x <- bigmemory::as.big.matrix(matrix(0, 3, 4), separated = separated)
    part <- bigmemory::sub.big.matrix(x, firstRow = 2, firstCol = 2, lastCol = 3)
    result <- pjrt_buffer(matrix(c(1, 2, 3, 4), 2), "f64")
    expect_identical(convert_out("big.matrix", result, part), part)
    expect_identical(x[, ], rbind(0, c(0, 1, 3, 0), c(0, 2, 4, 0)))
    expect_error(convert_out("big.matrix", pjrt_buffer(1:3), part), "a result of shape (2, 2)", fixed = TRUE)
  }
  x <- bigmemory::as.big.matrix(matrix(0, 2, 2), type = "short")
  convert_out("big.matrix", pjrt_buffer(matrix(1:4, 2)), x)
  expect_equal(x[, ], matrix(1:4, 2))
  expect_error(convert_out("big.matrix", pjrt_buffer(matrix(c(9, 0.5, 1, 1), 2)), x), "0.5")
  expect_equal(x[, ], matrix(1:4, 2))
  folder <- tempfile()
  dir.create(folder)
  bigmemory::filebacked.big.matrix(2, 2, "double",
    init = 0, backingfile = "x.bin", descriptorfile = "x.desc", backingpath = folder
  )
  locked <- bigmemory::attach.big.matrix(file.path(folder, "x.desc"), readonly = TRUE)
  expect_error(convert_out("big.matrix", pjrt_buffer(diag(2)), locked), "read-only")
})

test_that("a big.matrix that changes or goes after a call has not changed what the call got", {
  use_package("bigmemory")
  m <- matrix(stats::rnorm(1e5), 100)
  x <- bigmemory::as.big.matrix(m)
  buffer <- pjrt_buffer(x)
  x[, ] <- 0
  rm(x)
  gc()
  expect_identical(as_array(buffer), m)
})

test_that("a data set of hdf5r is read as hdf5r shows it", {
  use_package("hdf5r")
  file <- hdf5r::H5File$new(tempfile(fileext = ".h5"), "w")
  on.exit(file$close_all())
  put <- function(name, x) {
    file[[name]] <- x
    file[[name]]
  }
  cube <- array(as.double(1:24), 2:4)
  expect_identical(bytes_for("hdf5r::H5D", expect_identical(on_device(put("cube", cube)), cube)), 192)
  expect_identical(on_device(put("whole", matrix(1:6, 2))), matrix(1:6, 2))
  expect_identical(as.vector(on_device(put("flags", c(TRUE, FALSE)))), c(TRUE, FALSE))
  expect_identical(as.character(dtype(pjrt_buffer(put("long", bit64::as.integer64(1:3))))), "i64")
  single <- file$create_dataset("single", robj = c(0.5, 1.5), dtype = hdf5r::h5types$H5T_NATIVE_FLOAT)
  expect_identical(as.character(dtype(pjrt_buffer(single))), "f32")
  expect_fault(on_device(put("text", "a")), "converter", "no dtype for elements of the type H5T_STRING", "data")
  for (chunk in list(NULL, c(7, 5), c(300, 1), c(1, 400))) {
    large <- matrix(stats::rnorm(300 * 400), 300)
    data <- file$create_dataset(paste0("large", length(file$ls()$name)), large, chunk_dims = chunk)
    expect_identical(on_device(data), large)
  }
})

test_that("the parts of a data set are all of it, in R's order or in rows", {
  for (dims in list(10, c(4, 5), c(3, 4, 5), c(1, 7), c(6, 1))) {
    x <- array(seq_len(prod(dims)), dims)
    for (piece in c(1, 3, 10, 100)) {
      for (chunk in list(rep(1, length(dims)), pmin(dims, 2), dims)) {
        plan <- pjrtdispatch:::hdf5_slabs(dims, piece, chunk)
        view <- host_fill("i32", dims)
        for (slab in plan$slabs) fill(view, do.call(`[`, c(list(x), slab, drop = FALSE)), rows = plan$rows)
        expect_identical(as.vector(values_of(view)), as.vector(x))
      }
    }
  }
  expect_identical(pjrtdispatch:::hdf5_slabs(c(0, 3), 10, c(1, 1))$slabs, list())
})

test_that("results are written back into a data set, and a closed one is an error", {
  use_package("hdf5r")
  file <- hdf5r::H5File$new(tempfile(fileext = ".h5"), "w")
  file[["x"]] <- matrix(0, 2, 3)
  data <- file[["x"]]
  buffer <- pjrt_buffer(data)
  convert_out("H5D", pjrt_buffer(matrix(1:6 + 0.5, 2), "f64"), data)
  expect_identical(data[, ], matrix(1:6 + 0.5, 2))
  expect_error(convert_out("H5D", pjrt_buffer(1:3), data), "a result of shape (2, 3)", fixed = TRUE)
  file$close_all()
  expect_identical(as_array(buffer), matrix(0, 2, 3))
  expect_fault(on_device(data), "converter", "the data set is closed", "data")
  expect_error(convert_out("H5D", pjrt_buffer(matrix(0, 2, 3)), data), "the data set is closed")
})

# A float64 array of numpy whose first element is at a multiple of 64 bytes, plus `shift`.
aligned_array <- function(n, shift = 0, frozen = TRUE) {
  reticulate::py_eval(convert = FALSE, sprintf(
    "(lambda np: (lambda raw: (lambda a: (a.__setitem__(slice(None), np.arange(%d)), %s, a)[-1])(
      raw[(-raw.ctypes.data) %% 64 + %d:][:8 * %d].view('f8')))(np.zeros(8 * %d + 128, dtype='u1')))(__import__('numpy'))",
    n, if (frozen) "[x.setflags(write=False) for x in (a.base, a)]" else "None", shift, n, n
  ))
}

test_that("an array of numpy that nobody can write to is shared, if it is aligned", {
  use_numpy()
  x <- aligned_array(1000)
  expect_identical(bytes_for("reticulate::numpy.ndarray", buffer <- with_copy("never", pjrt_buffer(x))), 0)
  rm(x)
  gc()
  reticulate::import("gc")$collect()
  expect_identical(as.vector(as_array(buffer)), as.double(0:999))
  expect_fault(with_copy("never", pjrt_buffer(aligned_array(1000, 8))), "converter", "does not begin at a multiple of 64 bytes")
  open <- aligned_array(1000, frozen = FALSE)
  expect_fault(with_copy("never", pjrt_buffer(open)), "converter", "its data is not declared immutable")
  expect_identical(bytes_for("reticulate::numpy.ndarray", pjrt_buffer(open)), 8000)
  turned <- aligned_array(12)$reshape(3L, 4L)$T
  expect_fault(with_copy("never", pjrt_buffer(turned)), "converter", "its data is not row-major (strides [1,4])")
  expect_identical(on_device(turned), matrix(as.double(0:11), 4))
})

test_that("arrays of numpy of all layouts and dtypes", {
  np <- use_numpy()
  x <- np$arange(24)$reshape(2L, 3L, 4L)
  whole <- aperm(array(0:23, c(4, 3, 2)))
  expect_equal(on_device(x$astype("f4")), whole + 0)
  expect_equal(as.integer(on_device(x)), as.integer(whole))
  expect_equal(on_device(x$astype("f8")$transpose(2L, 0L, 1L)), aperm(whole + 0, c(3, 1, 2)))
  python <- function(code) reticulate::py_eval(sprintf("(lambda np: %s)(__import__('numpy'))", code), convert = FALSE)
  expect_identical(as.vector(on_device(python("np.arange(10.)[::-3]"))), c(9, 6, 3, 0))
  expect_identical(on_device(python("np.broadcast_to(np.float64(2), (2, 3))")), matrix(2, 2, 3))
  expect_identical(dim(on_device(python("np.zeros((0, 3))"))), c(0L, 3L))
  expect_identical(on_device(python("np.array(1.5)")), 1.5)
  dtypes <- c(
    "?" = "bool", i1 = "i8", i2 = "i16", i4 = "i32", i8 = "i64", u1 = "ui8", u2 = "ui16", u4 = "ui32", u8 = "ui64", f2 = "f16",
    f4 = "f32", f8 = "f64", c8 = "c64", c16 = "c128"
  )
  for (type in names(dtypes)) {
    buffer <- pjrt_buffer(python(sprintf("np.ones(2, dtype='%s')", type)))
    expect_identical(as.character(dtype(buffer)), dtypes[[type]])
    values <- as_array(buffer)
    expect_equal(if (is.complex(values)) Re(values) else as.numeric(values), c(1, 1), ignore_attr = TRUE)
  }
  expect_fault(on_device(python("np.zeros(2, dtype='>f8')")), "converter", "no dtype for elements of the type \">f8\"")
  expect_fault(on_device(python("np.array(['a'])")), "converter", "no dtype for elements of the type \"<U1\"")
  record <- python("np.zeros(3, dtype=[('a', 'i1'), ('b', 'f8')])['b']")
  expect_fault(on_device(record), "converter", "parts of records")
})

test_that("results are written back into an array of numpy, but not into one that is read-only", {
  np <- use_numpy()
  x <- np$zeros(c(2L, 3L))
  expect_identical(convert_out("numpy.ndarray", pjrt_buffer(matrix(1:6, 2), "f32"), x), x)
  expect_identical(reticulate::py_to_r(x), matrix(1:6 + 0, 2))
  convert_out("numpy.ndarray", pjrt_buffer(matrix(1:6, 3), "f32"), x$T)
  expect_identical(reticulate::py_to_r(x), t(matrix(1:6 + 0, 3)))
  expect_error(convert_out("numpy.ndarray", pjrt_buffer(1:3), x), "a result of shape (2, 3)", fixed = TRUE)
  expect_error(convert_out("numpy.ndarray", pjrt_buffer(1:3), aligned_array(3)), "read-only")
  windows <- np$lib$stride_tricks$sliding_window_view(x$ravel(), 5L, writeable = TRUE)
  fault <- expect_error(convert_out("numpy.ndarray", pjrt_buffer(matrix(0, 2, 5)), windows), "elements that share memory")
  expect_identical(fault$code, "strides")
  expect_identical(reticulate::py_to_r(x), t(matrix(1:6 + 0, 3)))
})

test_that("an array of numpy that changes after a call has not changed what the call got", {
  np <- use_numpy()
  x <- np$ones(1000L)
  buffer <- pjrt_buffer(x)
  x$fill(2)
  expect_identical(as.vector(as_array(buffer)), rep(1, 1000))
})
