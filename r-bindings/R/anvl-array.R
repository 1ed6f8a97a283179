#' Arrays of anvl
#'
#' [dispatch()] gives its results as `AnvlArray`s: lists of `$data`, `$dtype`, `$shape`, `$device` and `$backend`. They
#' print and convert as arrays also where the package anvl is not loaded; where it is, its own methods are used.
#'
#' @param x An `AnvlArray`.
#' @param check Whether a value that would be lost is an error, see [as_array()].
#' @param ... For `print()`: passed to the method for buffers. Else not used.
#' @return `print()` gives `x`, invisibly; `dim()` the sizes, `NULL` of a scalar; `as_array()` an R array; the others a
#'   vector.
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
as.double.AnvlArray <- function(x, ...) as.double(as_array(x))

#' @rdname AnvlArray
#' @export
as.integer.AnvlArray <- function(x, ...) as.integer(as_array(x))

#' @rdname AnvlArray
#' @export
as.logical.AnvlArray <- function(x, ...) as.logical(as_array(x))
