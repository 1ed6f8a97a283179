# The matrices of the package Matrix.

# Those that have all their elements in the order of R; others are made so.
convert_in_dense <- function(x, expected) {
  if (!inherits(x, "dgeMatrix")) {
    x <- whole_matrix(x)
    if (is.logical(x)) return(truth_values(x, expected))
    return(host_view(x, "f64", dim(x), convertible = TRUE))
  }
  host_view(x@x, "f64", dim(x), immutable = TRUE, convertible = TRUE)
}

convert_out_dense <- function(result, original, info) {
  like_original(Matrix::Matrix(matrix_of(result), sparse = FALSE, doDiag = FALSE), original)
}

# Truth values, as numbers where such are expected.
truth_values <- function(x, expected) {
  if (wanted_dtype(expected, "bool") != "bool") {
    return(x + 0L)
  }
  if (anyNA(x)) {
    stop(sprintf("element %d is NA, which bool does not hold", which(is.na(x))[[1L]]), call. = FALSE)
  }
  x
}

# How many elements are made dense at a time.
sparse_piece <- 2^18

convert_in_sparse <- function(x, expected) {
  is_logical <- inherits(x, c("lMatrix", "nMatrix", "indMatrix"))
  dtype <- wanted_dtype(expected, if (is_logical) "bool" else "f64")
  size <- prod(dim(x)) * dtype_size(dtype)
  if (is.null(expected$copy) || expected$copy == "never") {
    stop(
      sprintf(
        paste(
          "to make this %s dense takes %s bytes, and it may not copy:",
          "allow it by with_copy(\"if_needed\", ...) around the call"
        ),
        class(x)[[1L]], format(size, scientific = FALSE)
      ),
      call. = FALSE
    )
  }
  view <- host_fill(dtype, dim(x))
  step <- max(sparse_piece %/% max(nrow(x), 1L), 1L)
  for (first in seq(1L, by = step, length.out = ceiling(ncol(x) / step))) {
    columns <- first:min(first + step - 1L, ncol(x))
    piece <- whole_matrix(x[, columns, drop = FALSE])
    fill(view, if (is_logical && dtype != "bool") piece + 0L else piece)
  }
  view
}

convert_out_sparse <- function(result, original, info) {
  like_original(Matrix::Matrix(matrix_of(result), sparse = TRUE, doDiag = FALSE), original)
}

# All elements as a matrix of R's own. The method is there once the package is.
whole_matrix <- function(x) {
  loadNamespace("Matrix")
  x <- as.matrix(x)
  dimnames(x) <- NULL
  x
}

matrix_of <- function(result) {
  x <- result_array(result)
  if (length(dim(x)) == 2L) return(x)
  stop(
    sprintf("expected a result of two dimensions, got shape (%s)", paste(dim(x) %||% length(x), collapse = ", ")),
    call. = FALSE
  )
}
