# Data sets of `hdf5r`: read a part at a time into the device's memory. Dimensions are those that hdf5r shows, which are the
# file's in reverse, so R's order is that of the file.

# How many elements are read at a time: a small part of all. R is asked to collect as often as it has kept a few of them.
hdf5_piece <- function(dims) min(max(prod(dims) / 100, 2^15), 2^20)

convert_in_hdf5 <- function(x, expected) {
  if (!isTRUE(x$is_valid)) {
    stop("the data set is closed", call. = FALSE)
  }
  dims <- x$dims
  view <- host_fill(wanted_dtype(expected, hdf5_dtype(x)), dims)
  if (length(dims) == 0L) {
    return(fill(view, x$read()))
  }
  piece <- hdf5_piece(dims)
  plan <- hdf5_slabs(dims, piece, hdf5_chunk(x))
  garbage <- 0
  for (slab in plan$slabs) {
    values <- x$read(args = slab)
    fill(view, values, rows = plan$rows)
    garbage <- garbage + length(values)
    values <- NULL
    # Left alone, R would keep as much as 64 megabytes of what was read.
    if (garbage >= piece) {
      gc(full = FALSE)
      garbage <- 0
    }
  }
  view
}

convert_out_hdf5 <- function(result, original, info) {
  if (!isTRUE(original$is_valid)) {
    stop("the data set is closed", call. = FALSE)
  }
  x <- result_array(result)
  if (!identical(as.double(dim(x) %||% length(x)), as.double(original$dims))) {
    stop(
      sprintf(
        "expected a result of shape (%s), got (%s)",
        paste(original$dims, collapse = ", "), paste(dim(x) %||% length(x), collapse = ", ")
      ),
      call. = FALSE
    )
  }
  original$write(args = rep(list(quote(expr = )), length(original$dims)), value = x)
  original
}

# The dtype of a data set.
hdf5_dtype <- function(x) {
  type <- x$get_type()
  on.exit(type$close())
  # Without a limit for text of any length.
  bits <- 8 * as.double(type$get_size())
  kind <- class(type)[[1L]]
  dtype <- switch(kind,
    H5T_FLOAT = switch(as.character(bits), "64" = "f64", "32" = "f32", "16" = "f16"),
    H5T_INTEGER = paste0(if (as.character(type$get_sign()) == "H5T_SGN_NONE") "ui" else "i", bits),
    H5T_ENUM = , H5T_LOGICAL = if (is_hdf5_logical(type)) "bool"
  )
  if (is.null(dtype)) {
    stop(sprintf("there is no dtype for elements of the type %s", kind), call. = FALSE)
  }
  dtype
}

# hdf5r keeps truth values as an enumeration.
is_hdf5_logical <- function(type) all(c("FALSE", "TRUE") %in% type$get_labels())

# The sizes of the blocks in which the file keeps a data set, which are read as a whole; 1 for one that is in one piece.
hdf5_chunk <- function(x) {
  chunk <- tryCatch(x$chunk_dims, error = function(error) NA)
  if (anyNA(chunk) || length(chunk) != length(x$dims)) rep(1, length(x$dims)) else chunk
}

# The indices of the parts in which an array is read, each of at most so many elements if that is possible: along the last
# dimension, which is the file's own order; along the first one (`rows`), if only so each block is read once.
hdf5_slabs <- function(dims, piece, chunk) {
  rank <- length(dims)
  if (any(dims == 0)) {
    return(list(rows = FALSE, slabs = list()))
  }
  before <- cumprod(c(1, dims))[seq_len(rank)]
  by_last <- before[[rank]] * min(chunk[[rank]], dims[[rank]])
  by_first <- prod(dims[-1L]) * min(chunk[[1L]], dims[[1L]])
  rows <- by_first <= piece && by_last > piece
  # The dimension of which a part is taken; of those before it all, of those after it one index at a time.
  split <- if (rows) 1L else max(which(before <= piece))
  size <- if (rows) prod(dims[-1L]) else before[[split]]
  step <- max(piece %/% size, 1)
  if (step > chunk[[split]]) {
    step <- step %/% chunk[[split]] * chunk[[split]]
  }
  starts <- seq(1, dims[[split]], by = step)
  parts <- lapply(starts, function(start) start:min(start + step - 1, dims[[split]]))
  all <- function(n) rep(list(quote(expr = )), n)
  if (rows) {
    return(list(rows = TRUE, slabs = lapply(parts, function(part) c(list(part), all(rank - 1L)))))
  }
  after <- dims[seq_len(rank) > split]
  # An empty list of indices, where there are no dimensions after it.
  outer <- if (length(after) == 0L) matrix(0, 1L, 0L) else as.matrix(do.call(expand.grid, lapply(after, seq_len)))
  slabs <- lapply(seq_len(nrow(outer)), function(row) {
    lapply(parts, function(part) c(all(split - 1L), list(part), as.list(unname(outer[row, ]))))
  })
  list(rows = FALSE, slabs = unlist(slabs, recursive = FALSE))
}
