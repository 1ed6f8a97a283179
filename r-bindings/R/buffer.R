#' Buffers
#'
#' A buffer is an array on a device. `pjrt_buffer()` copies an R vector or array to one, `pjrt_scalar()` a single value
#' to one without dimensions, and `pjrt_empty()` makes one of zeros. [as_array()] copies a buffer back.
#'
#' R data is copied before the function returns, so changing it later does not change the buffer.
#'
#' @section Element types:
#' The element types (dtypes) are `bool`, `i8`, `i16`, `i32`, `i64`, `ui8`, `ui16`, `ui32`, `ui64`, `f16`, `bf16`,
#' `f32`, `f64`, `c64` and `c128`. Without `dtype`, logical data is `bool`, integer `i32`, double `f32`,
#' `bit64::integer64` `i64` and complex `c64`. Double data can have any dtype, integer and `integer64` any but `bool`,
#' logical only `bool`, complex only a complex one. Raw data holds the bytes of elements and has to say of which.
#'
#' @section Values that a dtype does not hold:
#' With `check = TRUE` they are an error: numbers out of range, fractions and missing values in an integer type, numbers
#' other than 0 and 1 in `bool`, finite numbers that would become infinite, integers that a float type would round, and
#' missing values in any type but `f64` and `c128`. That a double is rounded to a shorter float type is none. Otherwise
#' numbers become what is nearest, rounded once, and in an integer type fractions are cut off. Missing values become:
#'
#' | | float types | integer types | `bool` |
#' |---|---|---|---|
#' | `NA` of integer and `integer64` data | `NaN` | the least number: 0 in an unsigned type, which is lost; `NA` again when `i32` and `i64` are read | |
#' | `NA` and `NaN` of double data | `NaN` | 0 | `TRUE` |
#' | `NA` of logical data | | | `TRUE` |
#'
#' In `f64` and `c128` an `NA` stays `NA`.
#'
#' @param data A logical, integer, double, `integer64`, complex or raw vector or array, an object for which a
#'   [converter][register_converter] is registered, or a buffer, which is returned as it is.
#' @param dtype The element type, `NULL` for the usual one.
#' @param device A [device][pjrt_device] or the name of one, `NULL` for the default.
#' @param shape The sizes, `NULL` for those of the data. A single value fills any shape.
#' @param check Whether a value that would be lost is an error.
#' @param row_major Whether the bytes are in row-major order.
#' @param ... For methods.
#' @return A `PJRTBuffer`.
#'
#' @section Errors:
#' Data of another type, data that does not fill the shape, a dtype that the type of the data cannot have, and with
#' `check = TRUE` the first value that would be lost.
#' @seealso [as_array()] for the way back, [dtype()] and [shape()], [copy_buffer()] and [release()].
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(matrix(1:6, 2, 3), dtype = "f32")
#' x
#' as_array(x)
#' pjrt_scalar(2)
#' pjrt_buffer(0, shape = c(2, 2))
#' pjrt_empty("i32", c(2, 0))
#'
#' # Whatever is lost is told on request.
#' try(pjrt_buffer(c(1.5, NA), dtype = "i32", check = TRUE))
pjrt_buffer <- function(data, dtype = NULL, device = NULL, shape = NULL, check = FALSE, ...) {
  # Looking for a method takes longer than the upload of a number.
  if (is.object(data) || is.raw(data)) {
    UseMethod("pjrt_buffer")
  } else {
    if (...length()) expect_no_more(...)
    .Call(savvy_rs_buffer__impl, data, dtype, device, shape, check)
  }
}

#' @export
pjrt_buffer.default <- function(data, dtype = NULL, device = NULL, shape = NULL, check = FALSE, ...) {
  expect_no_more(...)
  .Call(savvy_rs_buffer__impl, data, dtype, device, shape, check)
}

#' @export
pjrt_buffer.integer64 <- pjrt_buffer.default

#' @rdname pjrt_buffer
#' @export
pjrt_buffer.raw <- function(data, ..., dtype, device = NULL, shape, row_major) {
  expect_no_more(..., but = "check")
  expect_given("dtype", missing(dtype))
  expect_given("shape", missing(shape))
  expect_given("row_major", missing(row_major))
  .Call(savvy_rs_buffer_of_bytes__impl, data, dtype, device, shape, row_major)
}

# An argument that nothing has, a misspelled one for instance, is not passed over; `but` names those that may be there.
expect_no_more <- function(..., but = NULL) {
  names <- ...names() %||% rep("", ...length())
  for (i in which(!names %in% but)) {
    if (nzchar(names[[i]])) {
      raise_("argument", sprintf("argument `%s`: there is no argument of this name", names[[i]]), names[[i]])
    }
    raise_("argument", sprintf("argument `...`: expected nothing more, got %s", rs_describe(...elt(i))), "...")
  }
}

# Bytes do not say what they are.
expect_given <- function(argument, is_missing) {
  if (is_missing) {
    raise_("type", sprintf("argument `%s`: raw data needs it, by its name", argument), argument)
  }
}

#' @export
pjrt_buffer.PJRTBuffer <- function(data, dtype = NULL, device = NULL, shape = NULL, check = FALSE, ...) {
  .Call(savvy_rs_buffer_same__impl, data, dtype, device, shape)
}

#' @rdname pjrt_buffer
#' @export
pjrt_scalar <- function(data, dtype = NULL, device = NULL, check = FALSE, ...) {
  if (is.object(data) || is.raw(data) || length(data) != 1L) {
    UseMethod("pjrt_scalar")
  } else {
    if (...length()) expect_no_more(...)
    .Call(savvy_rs_buffer__impl, data, dtype, device, integer(), check)
  }
}

#' @export
pjrt_scalar.default <- function(data, dtype = NULL, device = NULL, check = FALSE, ...) {
  expect_no_more(...)
  # What the length of an object says of its array only its converter knows.
  if (!is.object(data)) expect_one(data)
  .Call(savvy_rs_buffer__impl, data, dtype, device, integer(), check)
}

#' @export
pjrt_scalar.integer64 <- function(data, dtype = NULL, device = NULL, check = FALSE, ...) {
  expect_no_more(...)
  expect_one(data)
  .Call(savvy_rs_buffer__impl, data, dtype, device, integer(), check)
}

expect_one <- function(data) {
  if (length(data) != 1L) {
    raise_("type", sprintf("argument `data`: expected one value, got %d", length(data)), "data")
  }
}

#' @rdname pjrt_buffer
#' @export
pjrt_scalar.raw <- function(data, ..., dtype, device = NULL) {
  expect_no_more(..., but = c("check", "shape", "row_major"))
  expect_given("dtype", missing(dtype))
  .Call(savvy_rs_buffer_of_bytes__impl, data, dtype, device, integer(), TRUE)
}

#' @export
pjrt_scalar.PJRTBuffer <- function(data, dtype = NULL, device = NULL, check = FALSE, ...) {
  .Call(savvy_rs_buffer_same__impl, data, dtype, device, integer())
}

#' @rdname pjrt_buffer
#' @export
pjrt_empty <- function(dtype, shape, device = NULL) {
  .Call(savvy_rs_buffer_empty__impl, dtype, shape, device)
}

#' Copies a buffer to R
#'
#' `as_array()` waits for a buffer and copies it to an R array, or to a vector of length 1 if it has no dimensions;
#' `as_raw()` copies its bytes. Waiting can be interrupted.
#'
#' `bool` becomes logical; `i8`, `i16`, `i32`, `ui8` and `ui16` integer; `i64`, `ui32` and `ui64`
#' `bit64::integer64`; the float types double; the complex types complex. The numbers which R takes for `NA` (the least
#' `i32` and `i64`) come out as `NA`, and so does a `ui64` of 2^63 or more; with `check = TRUE` they are an error.
#'
#' @param x A buffer, or another object with a method.
#' @param check Whether a value that would be lost is an error.
#' @param row_major Whether the bytes come in row-major order; else the first index runs fastest, as in R.
#' @param ... For methods.
#' @return `as_array()` an array, `as_raw()` a raw vector.
#'
#' @section Errors:
#' A buffer that was donated to a program or released; an error of the computation that makes the buffer; with
#' `check = TRUE` a value that R does not hold.
#' @section 64-bit integers:
#' An `integer64` vector prints and computes by the methods of the package bit64, which is loaded when the first one is
#' given, if it is installed. Without it R takes the numbers for doubles near 0: install bit64, or use
#' `as.numeric()` of an [AnvlArray], which does without.
#' @seealso [as_array_async()] to go on meanwhile.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' as_array(pjrt_buffer(c(TRUE, FALSE)))
#' as_array(pjrt_scalar(1L))
#' as_raw(pjrt_buffer(1:2), row_major = TRUE)
as_array <- function(x, check = FALSE, ...) UseMethod("as_array")

#' @export
as_array.default <- function(x, check = FALSE, ...) ask_tengen("as_array", x, ...)

#' @export
as_array.PJRTBuffer <- function(x, check = FALSE, ...) {
  if (...length()) expect_no_more(...)
  .Call(savvy_rs_buffer_as_array__impl, x, check)
}

#' @rdname as_array
#' @export
as_raw <- function(x, row_major, ...) UseMethod("as_raw")

#' @export
as_raw.default <- function(x, row_major, ...) ask_tengen("as_raw", x, row_major, ...)

#' @export
as_raw.PJRTBuffer <- function(x, row_major, ...) {
  .Call(savvy_rs_buffer_as_raw__impl, x, row_major)
}

#' @export
dtype.PJRTBuffer <- function(x, ...) rs_buffer_dtype(x, "DataType")

#' @export
shape.PJRTBuffer <- function(x, ...) rs_buffer_shape(x)

#' @export
device.PJRTBuffer <- function(x, ...) rs_buffer_device(x)

#' @export
platform.PJRTBuffer <- function(x, ...) rs_buffer_platform(x)

#' @export
dim.PJRTBuffer <- function(x) {
  shape <- rs_buffer_shape(x)
  if (length(shape)) shape
}

#' Are two buffers equal?
#'
#' `all.equal()` compares what buffers hold: dtype, shape and values, not the device. It waits for both.
#'
#' @param target,current Buffers.
#' @param ... For [all.equal()] of their values, such as `tolerance`. Integers of 64 bits are compared exactly.
#' @return `TRUE`, or a string that says what differs.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' all.equal(pjrt_buffer(1:3), pjrt_buffer(1:3))
#' all.equal(pjrt_buffer(1:3), pjrt_buffer(c(1, 2, 3)))
all.equal.PJRTBuffer <- function(target, current, ...) {
  if (!inherits(current, "PJRTBuffer")) {
    return(sprintf("target is a PJRTBuffer, current is %s", rs_describe(current)))
  }
  told <- function(x) c(dtype = rs_buffer_dtype(x, NULL), shape = sprintf("(%s)", toString(rs_buffer_shape(x))))
  one <- told(target)
  other <- told(current)
  differ <- one != other
  if (any(differ)) {
    return(sprintf("%s: target is %s, current is %s", names(one), one, other)[differ])
  }
  values <- if (is_wide(target)) rs_buffer_integers else as_array
  all.equal(values(target), values(current), ...)
}

#' Copies a buffer to a device
#'
#' @param buffer A buffer.
#' @param device A [device][pjrt_device] or the name of one.
#' @return A buffer on the device: the same one if it is there already.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(1:3)
#' last <- utils::tail(devices("cpu"), 1)[[1]]
#' device(copy_buffer(x, last)) == last
copy_buffer <- function(buffer, device) {
  .Call(savvy_rs_buffer_copy__impl, buffer, device)
}

#' Frees a buffer
#'
#' R frees a buffer when it collects it, some time after the last use. `release()` frees its memory now; using the
#' buffer afterwards is an error.
#'
#' @param x A buffer, or an [AnvlArray] that holds one.
#' @return `x`, invisibly. To release it again does nothing.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(1:3)
#' release(x)
#' try(as_array(x))
release <- function(x) {
  if (missing(x)) refuse(x, "a PJRTBuffer or an AnvlArray")
  rs_buffer_release(if (is.list(x) && inherits(x, "AnvlArray")) buffer_of(x) else x)
  invisible(x)
}
