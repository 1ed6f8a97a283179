#' Arrays of anvl
#'
#' [dispatch()] gives its results as `AnvlArray`s: lists of `$data`, `$dtype`, `$shape`, `$device` and `$backend`. They
#' print and convert as arrays also where the package anvl is not loaded; where it is, its own methods are used.
#'
#' Functions that have no method take the list for what it is: `length()`, `[`, `[[` and `$` are those of the list, and
#' arithmetic is an error. `as_array()` gives an array of R for all of these.
#'
#' `as.numeric()`, `as.integer()`, `as.logical()` and `as.character()` give the right values of 64-bit integers too,
#' whether the package bit64 is installed or not. `all.equal()` compares the buffers: dtype, shape and values, not the
#' device.
#'
#' @param x,target,current An `AnvlArray`.
#' @param mode As for [as.vector()].
#' @param row_major Whether the bytes come in row-major order, see [as_raw()].
#' @param check Whether a value that would be lost is an error, see [as_array()].
#' @param ... For `print()`: passed to the method for buffers. Else not used.
#' @return `print()` gives `x`, invisibly; `dim()` the sizes, `NULL` of a scalar; `as_array()` an R array, `as.matrix()` and
#'   `t()` a matrix, the other conversions a vector; `all.equal()` `TRUE` or what differs; the rest what they give of the
#'   buffer.
#' @seealso [dispatch()], which gives them, and [release()].
#' @name AnvlArray
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(matrix(c(1, 2, 3, 4), 2))
#' a <- structure(
#'   list(data = x, dtype = dtype(x), shape = shape(x), device = device(x), backend = "pjrt"),
#'   class = "AnvlArray"
#' )
#' a
#' as_array(a)
#' sum(as.numeric(a))
#' t(a)
#' dtype(a)
NULL

#' @rdname AnvlArray
#' @export
print.AnvlArray <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  data <- data_of(x)
  if (!inherits(data, "PJRTBuffer")) {
    if (!is.null(data)) print(data, ...)
  } else if (has_content(data)) {
    print(data, ..., header = FALSE)
  }
  invisible(x)
}

#' @export
format.AnvlArray <- function(x, ...) {
  data <- data_of(x)
  if (inherits(data, "PJRTBuffer")) {
    return(sub("^<PJRTBuffer", "<AnvlArray", format(data)))
  }
  if (is.null(data)) {
    return("<AnvlArray without data>")
  }
  text <- function(field) if (length(field) == 1L) tryCatch(as.character(field), error = function(e) NULL)
  dtype <- text(.subset2(x, "dtype"))
  about <- if (is.null(dtype)) "" else sprintf(" %s[%s]", dtype, paste(.subset2(x, "shape"), collapse = ","))
  backend <- text(.subset2(x, "backend"))
  sprintf("<AnvlArray%s%s>", about, if (is.null(backend)) "" else paste(" of backend", backend))
}

# The field `$data`, `NULL` if there is none.
data_of <- function(x) if (is.list(x)) .subset2(x, "data")

#' @rdname AnvlArray
#' @export
as_array.AnvlArray <- function(x, check = FALSE, ...) {
  data <- data_of(x)
  if (is.null(data)) {
    raise_("type", "argument `x`: expected an AnvlArray with data, got one without", "x")
  }
  # What a backend without buffers keeps is an R array already.
  if (inherits(data, "PJRTBuffer")) as_array(data, check = check) else data
}

#' @rdname AnvlArray
#' @export
dim.AnvlArray <- function(x) {
  data <- data_of(x)
  if (inherits(data, "PJRTBuffer")) {
    return(dim(data))
  }
  shape <- if (is.list(x)) .subset2(x, "shape")
  if (is.null(shape)) dim(data) else if (length(shape)) as.integer(shape)
}

#' @rdname AnvlArray
#' @export
as.double.AnvlArray <- function(x, ...) as.double(numbers_of(x))

#' @rdname AnvlArray
#' @export
as.integer.AnvlArray <- function(x, ...) as.integer(numbers_of(x))

#' @rdname AnvlArray
#' @export
as.logical.AnvlArray <- function(x, ...) as.logical(numbers_of(x))

#' @rdname AnvlArray
#' @export
as.character.AnvlArray <- function(x, ...) {
  data <- data_of(x)
  if (is_wide(data)) {
    ifelse(is.na(rs_buffer_doubles(data)), NA_character_, rs_buffer_integers(data))
  } else {
    as.character(as_array(x), ...)
  }
}

#' @rdname AnvlArray
#' @export
as.vector.AnvlArray <- function(x, mode = "any") {
  switch(mode,
    any = {
      values <- as_array(x)
      # What `as.vector()` leaves of an integer64 are doubles near 0.
      if (inherits(values, "integer64")) structure(values, dim = NULL) else as.vector(values)
    },
    double = ,
    numeric = as.double(x),
    integer = as.integer(x),
    logical = as.logical(x),
    character = as.character(x),
    as.vector(unclass(x), mode)
  )
}

#' @rdname AnvlArray
#' @export
as.matrix.AnvlArray <- function(x, ...) as.matrix(as_array(x), ...)

#' @rdname AnvlArray
#' @export
t.AnvlArray <- function(x) t(as_array(x))

#' @rdname AnvlArray
#' @export
all.equal.AnvlArray <- function(target, current, ...) {
  if (!inherits(current, "AnvlArray")) {
    return(sprintf("target is an AnvlArray, current is %s", rs_describe(current)))
  }
  all.equal(data_of(target), data_of(current), ...)
}

#' @rdname AnvlArray
#' @export
dtype.AnvlArray <- function(x, ...) told_by(x, dtype, "dtype", ...)

#' @rdname AnvlArray
#' @export
shape.AnvlArray <- function(x, ...) told_by(x, shape, "shape", ...)

#' @rdname AnvlArray
#' @export
device.AnvlArray <- function(x, ...) told_by(x, device, "device", ...)

#' @rdname AnvlArray
#' @export
platform.AnvlArray <- function(x, ...) platform(buffer_of(x))

#' @rdname AnvlArray
#' @export
await.AnvlArray <- function(x, ...) {
  await(buffer_of(x))
  invisible(x)
}

#' @rdname AnvlArray
#' @export
is_ready.AnvlArray <- function(x, ...) is_ready(buffer_of(x))

#' @rdname AnvlArray
#' @export
as_array_async.AnvlArray <- function(x, ...) as_array_async(buffer_of(x))

#' @rdname AnvlArray
#' @export
as_raw.AnvlArray <- function(x, row_major, ...) as_raw(buffer_of(x), row_major, ...)

# What a buffer tells, else what stands in the field of that name.
told_by <- function(x, generic, name, ...) {
  data <- data_of(x)
  if (inherits(data, "PJRTBuffer")) {
    return(generic(data, ...))
  }
  field <- if (is.list(x)) .subset2(x, name)
  if (is.null(field)) {
    raise_("type", sprintf("argument `x`: expected an AnvlArray with a buffer or a `$%s`, got one without", name), "x")
  }
  field
}

# Whether it is a buffer of a dtype that is an `integer64` in R.
is_wide <- function(data) inherits(data, "PJRTBuffer") && rs_buffer_dtype(data, NULL) %in% c("i64", "ui32", "ui64")

# The elements as numbers that R has itself, also where bit64 is not installed.
numbers_of <- function(x) {
  data <- data_of(x)
  if (is_wide(data)) rs_buffer_doubles(data) else as_array(x)
}
