# Data frames of numeric columns: a matrix, whose columns are put together in the device's memory.

convert_in_columns <- function(x, expected) {
  rows <- .row_names_info(x, 2L)
  columns <- seq_along(unclass(x))
  for (j in columns) {
    column <- .subset2(x, j)
    is_plain <- is.numeric(column) && (!is.object(column) || inherits(column, "integer64")) && is.null(dim(column))
    if (!is_plain) {
      stop(
        sprintf("%s: expected numbers without a class, got %s", column_label(x, j), rs_describe(column)),
        call. = FALSE
      )
    }
    if (length(column) != rows) {
      stop(
        sprintf("%s: expected %d elements, one for each row, got %d", column_label(x, j), rows, length(column)),
        call. = FALSE
      )
    }
  }
  view <- host_fill(wanted_dtype(expected, "f64"), c(rows, length(columns)))
  for (j in columns) {
    tryCatch(
      fill(view, .subset2(x, j)),
      error = function(error) stop(sprintf("%s: %s", column_label(x, j), without_argument(error)), call. = FALSE)
    )
  }
  view
}

# A column by its name, if it has one.
column_label <- function(x, j) {
  name <- names(x)[j]
  if (is.null(name) || is.na(name) || !nzchar(name)) sprintf("column %d", j) else sprintf("column `%s`", name)
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
