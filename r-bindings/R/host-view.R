#' Views of host data
#'
#' What a [converter][register_converter()] gives where its data is not in a plain R vector or array: where the data lies,
#' what it is, and who keeps it. A device gets the data from there, without a copy in between.
#'
#' `host_view()` is a view of the data of an R vector: its own elements, or the bytes of a raw vector. The view keeps the
#' vector. [mmap_array()] gives views of files.
#'
#' `host_fill()` is a view of new memory, which `fill()` fills piece by piece with R data in R's order (the first index runs
#' fastest), converted to `dtype` as by [pjrt_buffer()]: for data that is read from elsewhere, a part at a time. A CPU device
#' takes the memory as it is, so the data is in memory once. A view that is not filled completely is an error where it is
#' used, and once it is used it cannot be filled any more.
#'
#' @section When data is copied:
#' A CPU device uses the data where it lies if it is row-major (data of one dimension always is, unless its strides leave
#' something out), begins at a multiple of 64 bytes, is of the expected dtype, and is declared `immutable`. Else it is copied
#' once, from where it lies to the device, before the call goes on; what happens to the data later has no effect.
#' Which it was says the column `bytes_copied` of [converters()]. With `copy = "never"` a copy is an error that says why it
#' would be needed.
#'
#' @section Other backends:
#' For a [dispatcher()] of a backend other than `"pjrt"` no device gets the data: its elements are copied to a vector or array of R,
#' of the type that [as_array()] gives for the dtype. What is not logical, integer or double there is an error.
#'
#' @param data A raw, integer, double, `integer64` or complex vector or array.
#' @param dtype The element type. That of raw data can be any; other vectors have their own: `i32` or `ui32`, `f64`, `i64` or
#'   `ui64`, `c128`. As `i32` and `i64` a vector has no `NA`: where a device gets one it is an error.
#' @param shape The sizes, `NULL` for those of the data.
#' @param strides How far apart neighbours are along each dimension, counted in elements. `NULL`: column-major, as R keeps
#'   arrays; of raw data row-major.
#' @param offset How many elements come before the one whose indices are all 1.
#' @param read_only Whether the object that the data is of may not be written to: it is an error where a result is written
#'   back to it.
#' @param immutable Whether nobody will change the data as long as the view, or a buffer made of it, exists. Vectors of R
#'   are copied before R changes them, but C code may do otherwise.
#' @param convertible Whether the numbers are converted where another dtype is expected: floats are rounded once, integers
#'   have to fit. Else another dtype is an error.
#' @param view A view that `host_fill()` made.
#' @param values The next elements, logical, integer, double, `integer64` or complex. A value that the dtype does not hold is
#'   an error.
#' @param start The place of the first of them, counted from 1 in R's order, or the first row. It has to be the next one;
#'   `NULL` for whichever that is.
#' @param rows Whether the values are the next rows, that is a part of the array along its first dimension, such as
#'   `x[3:4, , ]`.
#' @return A `PJRTHostView`; `fill()` gives the view, invisibly.
#' @seealso [register_converter()], [shipped_converters].
#' @export
#' @examples
#' host_view(c(1.5, 2.5), "f64")
#' host_view(as.raw(1:6), "ui8", shape = c(2, 3))
#' host_view(matrix(1:6, 2), "i32", shape = 2L, strides = 2L, offset = 2L)
#'
#' view <- host_fill("f32", c(2, 3))
#' fill(view, 1:4)
#' fill(view, c(5, 6), start = 5)
host_view <- function(data, dtype, shape = NULL, strides = NULL, offset = 0, read_only = FALSE, immutable = FALSE,
                      convertible = FALSE) {
  if (is.null(shape)) {
    if (is.raw(data)) expect_given("shape", TRUE)
    shape <- dim(data) %||% length(data)
  }
  if (is.null(strides) && !is.raw(data)) {
    strides <- column_strides(shape)
  }
  flags <- c(expect_flag(read_only), expect_flag(immutable), expect_flag(convertible))
  rs_view_of_vector(data, dtype, shape, strides, offset, as.integer(flags))
}

#' @rdname host_view
#' @export
host_fill <- function(dtype, shape) {
  rs_view_to_fill(dtype, shape)
}

#' @rdname host_view
#' @export
fill <- function(view, values, start = NULL, rows = FALSE) {
  rs_view_fill(view, values, start, rows)
  invisible(view)
}

#' @export
print.PJRTHostView <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @export
format.PJRTHostView <- function(x, ...) {
  sprintf("<PJRTHostView %s>", rs_view_about(x))
}

# How far apart R keeps neighbours.
column_strides <- function(shape) {
  if (length(shape) == 0L) integer() else cumprod(c(1, as.double(shape)))[seq_along(shape)]
}

expect_flag <- function(x, name = deparse(substitute(x))) {
  if (!isTRUE(x) && !isFALSE(x)) {
    raise_("type", sprintf("argument `%s`: expected TRUE or FALSE, got %s", name, rs_describe(x)), name)
  }
  x
}

expect_string <- function(x, name = deparse(substitute(x))) {
  if (!is.character(x) || length(x) != 1L || is.na(x)) {
    refuse(x, "a string", name)
  }
  x
}

#' Arrays in files
#'
#' An array whose elements are the bytes of a file. The file is mapped: of what is not read, nothing is in memory. Such an
#' array is an argument wherever one is expected, by the [converter][shipped_converters] for its class.
#'
#' The data is copied to the device when a call gets it. With `immutable = TRUE` a CPU device uses the file's memory where it
#' is, if the data is row-major and begins at a multiple of 64 bytes; then nobody may change the file as long as a buffer of it
#' exists.
#'
#' @section Files that become shorter:
#' A file that was truncated after it was mapped is an error when it is used. While it is being read, which takes as long as
#' a copy does, and as long as an immutable one is in use, no program may truncate it: the system ends a process that reads
#' what a file no longer has. To remove a file, or to put another one in its place, is no problem.
#'
#' @param path The file.
#' @param dtype,shape Element type and sizes.
#' @param offset How many bytes come before the first element; a multiple of the element's size.
#' @param writable Whether results may be written back to the file.
#' @param row_major Whether the last index runs fastest; else the first, as in R.
#' @param immutable Whether nobody changes the file; see above.
#' @param x A `MappedArray`.
#' @param ... Not used.
#' @return A `MappedArray`, with `print()`, `dim()` and `length()`.
#' @export
#' @examples
#' path <- tempfile()
#' writeBin(as.double(1:6), path)
#' x <- mmap_array(path, "f64", c(2, 3))
#' x
#' dim(x)
mmap_array <- function(path, dtype, shape, offset = 0, writable = FALSE, row_major = TRUE, immutable = FALSE) {
  expect_flag(writable)
  expect_flag(immutable)
  expect_string(path)
  if (length(dtype) != 1L) {
    refuse(dtype, "an element type")
  }
  if (!is.numeric(shape)) {
    refuse(shape, "whole numbers")
  }
  if (writable && immutable) {
    raise_("value", "argument `immutable`: expected FALSE for a file that is written to, got TRUE", "immutable")
  }
  strides <- if (!expect_flag(row_major)) column_strides(shape)
  expect_aligned(offset, dtype)
  view <- file_view(path, dtype, shape, strides, offset, read_only = !writable, immutable = immutable, writes = writable)
  aval <- rs_view_aval(view)
  structure(
    list(view = view, path = path, dtype = aval$dtype, shape = aval$shape, writable = writable),
    class = "MappedArray"
  )
}

# A view of the elements of a whole array, or a part of one, in a file. `size` are the bytes of the array of which it is a part.
# `writes`: whether results go there by this view.
file_view <- function(path, dtype, shape, strides, start, offset = 0, read_only, immutable = FALSE, size = NULL, writes) {
  size <- size %||% (prod(shape) * dtype_size(dtype))
  if (is.numeric(size) && length(size) == 1L && !is.na(size) && size > 2^53) {
    got <- sprintf("one of %s elements", format(prod(shape), digits = 15L))
    raise_("shape", sprintf("argument `shape`: expected a shape that a file may have, got %s", got), "shape")
  }
  flags <- as.integer(c(read_only, immutable, TRUE))
  rs_view_of_file(path.expand(path), start, size, dtype, shape, strides, offset, flags, writes)
}

# Refuses an offset at which no element can begin. The rest is checked where the file is mapped.
expect_aligned <- function(offset, dtype) {
  size <- dtype_size(dtype)
  # A complex number is two.
  step <- if (startsWith(as.character(dtype), "c")) size %/% 2 else size
  if (is.numeric(offset) && length(offset) == 1L && isTRUE(offset %% step != 0)) {
    expected <- sprintf("a multiple of %d bytes, where an element of %s can begin", step, dtype)
    raise_("value", sprintf("argument `offset`: expected %s, got %s", expected, format(offset, digits = 15L)), "offset")
  }
}

# The bytes of an element.
dtype_size <- function(dtype) {
  bits <- suppressWarnings(as.integer(sub("^[a-z]*", "", dtype)))
  if (is.na(bits)) 1L else max(bits %/% 8L, 1L)
}

#' @rdname mmap_array
#' @export
print.MappedArray <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @export
format.MappedArray <- function(x, ...) {
  x <- unclass(x)
  flag <- if (x$writable) ", writable" else ""
  sprintf("<MappedArray %s[%s] of %s%s>", x$dtype, paste(x$shape, collapse = ","), encodeString(x$path, quote = "\""), flag)
}

#' @export
dim.MappedArray <- function(x) unclass(x)$shape

#' @export
length.MappedArray <- function(x) {
  n <- prod(unclass(x)$shape)
  if (n > .Machine$integer.max) n else as.integer(n)
}

convert_in_mapped <- function(x, expected) unclass(x)$view

convert_out_mapped <- function(result, original, info) {
  rs_view_write(unclass(original)$view, result_buffer(result))
  original
}
