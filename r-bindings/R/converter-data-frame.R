# Data frames of numeric columns: a matrix, whose columns are put together in the device's memory.

convert_in_columns <- function(x, expected) {
  names <- names(x)
  for (j in seq_along(names)) {
    column <- .subset2(x, j)
    is_plain <- is.numeric(column) && (!is.object(column) || inherits(column, "integer64")) && is.null(dim(column))
    if (!is_plain) {
      stop(
        sprintf("column `%s`: expected numbers without a class, got %s", names[[j]], rs_describe(column)),
        call. = FALSE
      )
    }
  }
  rows <- .row_names_info(x, 2L)
  view <- host_fill(wanted_dtype(expected, "f64"), c(rows, length(names)))
  for (j in seq_along(names)) {
    tryCatch(
      fill(view, .subset2(x, j)),
      error = function(error) stop(sprintf("column `%s`: %s", names[[j]], without_argument(error)), call. = FALSE)
    )
  }
  view
}

# The text of an error without the name of the argument, which is one of ours.
without_argument <- function(error) sub("^argument `[^`]*`: ", "", conditionMessage(error))

convert_out_columns <- function(result, original, info) {
  x <- result_array(result)
  if (length(dim(x)) != 2L || ncol(x) != length(original)) {
    stop(
      sprintf(
        "expected a result of %d columns, as the data frame has, got one of shape (%s)",
        length(original), paste(dim(x) %||% length(x), collapse = ", ")
      ),
      call. = FALSE
    )
  }
  columns <- lapply(seq_len(ncol(x)), function(j) x[, j])
  names(columns) <- names(original)
  # As the original is one, of whatever class; rows that are as many keep their names.
  rows <- if (nrow(x) == .row_names_info(original, 2L)) attr(original, "row.names") else seq_len(nrow(x))
  structure(columns, class = oldClass(original), row.names = rows)
}
