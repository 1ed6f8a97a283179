# Arrays of numpy, which reticulate has: what their `__array_interface__` says of them.

convert_in_numpy <- function(x, expected) numpy_view(x)

convert_out_numpy <- function(result, original, info) {
  if (is_numpy_read_only(original)) {
    stop("the array is read-only", call. = FALSE)
  }
  rs_view_write(numpy_view(original), result_buffer(result))
  original
}

numpy_view <- function(x) {
  if (inherits(x, c("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"))) {
    stop("it has a mask, which an array has not: fill it first, as by x$filled()", call. = FALSE)
  }
  about <- numpy_about(x)
  dtype <- numpy_dtype(about$type)
  size <- dtype_size(dtype)
  shape <- about$shape
  strides <- about$strides / size
  if (any(strides != trunc(strides))) {
    stop("its elements are parts of records: make a copy of the field", call. = FALSE)
  }
  # The elements that lie first and last, counted from the one whose indices are all 0.
  ends <- (shape - 1) * strides
  reach <- if (any(shape == 0)) c(0, -1) else c(sum(pmin(ends, 0)), sum(pmax(ends, 0)))
  flags <- c(about$read_only, is_numpy_frozen(x), TRUE)
  rs_view_of_address(
    about$address + reach[[1L]] * size, (diff(reach) + 1) * size, dtype, shape, strides, -reach[[1L]],
    as.integer(flags), x
  )
}

# Where the elements of an array are, by a function of Python's: reticulate makes integers of R of what may be larger.
numpy_about <- function(x) {
  if (is.null(numpy_asked$ask)) {
    numpy_asked$ask <- reticulate::py_eval(
      "lambda x: [str(x.__array_interface__['data'][0]), x.__array_interface__['typestr'],
        ' '.join(map(str, x.shape)), ' '.join(map(str, x.strides)), str(not x.flags.writeable)]"
    )
  }
  about <- unlist(numpy_asked$ask(x))
  numbers <- function(text) as.double(strsplit(text, " ", fixed = TRUE)[[1L]])
  list(
    address = as.double(about[[1L]]), type = about[[2L]], shape = numbers(about[[3L]]), strides = numbers(about[[4L]]),
    read_only = about[[5L]] == "True"
  )
}

# The function of Python's, once it is made.
numpy_asked <- new.env(parent = emptyenv())

numpy_dtype <- function(typestr) {
  order <- substring(typestr, 1L, 1L)
  names <- c(
    b1 = "bool", i1 = "i8", i2 = "i16", i4 = "i32", i8 = "i64", u1 = "ui8", u2 = "ui16", u4 = "ui32", u8 = "ui64",
    f2 = "f16", f4 = "f32", f8 = "f64", c8 = "c64", c16 = "c128"
  )
  dtype <- names[substring(typestr, 2L)]
  own <- if (.Platform$endian == "little") "<" else ">"
  if (is.na(dtype) || !order %in% c("|", own)) {
    stop(sprintf("there is no dtype for elements of the type \"%s\"", typestr), call. = FALSE)
  }
  unname(dtype)
}

# A value of Python's as one of R's, if it is not yet.
from_python <- function(x) {
  if (inherits(x, "python.builtin.object")) reticulate::py_to_r(x) else x
}

is_numpy_read_only <- function(x) {
  !isTRUE(from_python(reticulate::py_get_attr(reticulate::py_get_attr(x, "flags"), "writeable")))
}

# Whether neither an array nor what it is a part of can be written to.
is_numpy_frozen <- function(x) {
  while (inherits(x, "numpy.ndarray")) {
    if (!is_numpy_read_only(x)) {
      return(FALSE)
    }
    x <- reticulate::py_get_attr(x, "base")
  }
  is.null(x) || inherits(x, "python.builtin.NoneType") || inherits(x, "python.builtin.bytes")
}
