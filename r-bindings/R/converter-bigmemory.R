# `bigmemory::big.matrix`: shared memory or a file, which is mapped here a second time. Column-major.

big_dtypes <- c(char = "i8", raw = "ui8", byte = "ui8", short = "i16", integer = "i32", float = "f32", double = "f64")

convert_in_big <- function(x, expected) {
  big_view(x, writes = FALSE) %||% big_columns(x, wanted_dtype(expected, big_dtype(x)))
}

convert_out_big <- function(result, original, info) {
  if (bigmemory::is.readonly(original)) {
    stop("the big.matrix is read-only", call. = FALSE)
  }
  view <- big_view(original, writes = TRUE)
  if (!is.null(view)) {
    rs_view_write(view, result_buffer(result))
    return(original)
  }
  x <- result_array(result)
  if (!identical(as.double(dim(x)), as.double(dim(original)))) {
    stop(
      sprintf(
        "expected a result of shape (%s), got (%s)",
        paste(dim(original), collapse = ", "), paste(dim(x) %||% length(x), collapse = ", ")
      ),
      call. = FALSE
    )
  }
  original[, ] <- x
  original
}

big_dtype <- function(x) {
  type <- bigmemory::typeof(x)
  if (!type %in% names(big_dtypes)) {
    stop(sprintf("there is no dtype for elements of type %s", type), call. = FALSE)
  }
  big_dtypes[[type]]
}

# A view of the memory of a matrix that has all its columns in one piece that has a name; else `NULL`.
big_view <- function(x, writes) {
  dtype <- big_dtype(x)
  if (!bigmemory::is.shared(x) || bigmemory::is.separated(x)) {
    return(NULL)
  }
  about <- bigmemory::describe(x)@description
  path <- switch(about$sharedType,
    SharedMemory = file.path("/dev/shm", about$sharedName),
    FileBacked = file.path(about$dirname, about$filename),
    ""
  )
  if (!file.exists(path)) {
    return(NULL)
  }
  rows <- as.double(about$totalRows)
  # Where a part begins in the whole matrix.
  offset <- about$colOffset[[1L]] * rows + about$rowOffset[[1L]]
  size <- rows * about$totalCols * dtype_size(dtype)
  file_view(
    path, dtype, c(about$nrow, about$ncol), c(1, rows), 0,
    offset = offset, read_only = bigmemory::is.readonly(x), size = size, writes = writes
  )
}

# How many elements are read at a time.
big_piece <- 2^18

# Reads the columns one after the other, each a part at a time.
big_columns <- function(x, dtype) {
  view <- host_fill(dtype, dim(x))
  rows <- nrow(x)
  for (j in seq_len(ncol(x))) {
    for (first in seq(1, by = big_piece, length.out = ceiling(rows / big_piece))) {
      fill(view, x[first:min(first + big_piece - 1, rows), j])
    }
  }
  view
}
