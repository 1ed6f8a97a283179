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

#' @export
dtype.PJRTHostView <- function(x, ...) structure(rs_view_aval(x)$dtype, class = "DataType")

#' @export
shape.PJRTHostView <- function(x, ...) rs_view_aval(x)$shape

#' @export
dim.PJRTHostView <- function(x) {
  shape <- rs_view_aval(x)$shape
  if (length(shape)) shape
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
