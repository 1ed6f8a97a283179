#' Arrays in files
#'
#' An array whose elements are the bytes of a file. The file is mapped: of what is not read, nothing is in memory. Such an
#' array is an argument wherever one is expected, by the [converter][shipped_converters] for its class.
#'
#' The data is copied to the device when a call gets it. With `immutable = TRUE` a CPU device uses the file's memory where it
#' is, if the data is row-major and begins at a multiple of 64 bytes; then nobody may change the file as long as a buffer of it
#' exists.
#'
#' `x[i]`, `x[i, j]` and `x[[i]]` give elements as R data: of the file, only what lies between the first and the last of them
#' along each dimension is read. `as_array()` and `as.array()` read all of it. No element can be assigned: results are written
#' back to the file by functions that do so.
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
#' @param ... Indices, as for an array of R: whole numbers or logicals, for each dimension, or for all elements in R's order.
#'   For other methods, not used.
#' @param drop Whether dimensions of size 1 are left out.
#' @return A `MappedArray`, with `print()`, `dim()`, `length()`, [dtype()], [shape()] and methods that give its elements.
#' @export
#' @examples
#' path <- tempfile()
#' writeBin(as.double(1:6), path)
#' x <- mmap_array(path, "f64", c(2, 3))
#' x
#' dim(x)
#' x[2, 2:3]
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

#' @export
dtype.MappedArray <- function(x, ...) structure(unclass(x)$dtype, class = "DataType")

#' @export
shape.MappedArray <- function(x, ...) unclass(x)$shape

#' @export
as_array.MappedArray <- function(x, ...) {
  shape <- unclass(x)$shape
  rs_view_part(unclass(x)$view, integer(length(shape)), shape)
}

#' @rdname mmap_array
#' @export
as.array.MappedArray <- function(x, ...) as_array(x)

#' @export
as.vector.MappedArray <- function(x, mode = "any") {
  values <- as_array(x)
  if (mode == "any") without_dim(values) else as.vector(values, mode)
}

#' @export
as.double.MappedArray <- function(x, ...) as.double(as_array(x))

#' @export
as.matrix.MappedArray <- function(x, ...) as.matrix(as_array(x))

#' @export
as.list.MappedArray <- function(x, ...) as.list(as.vector(x))

#' @rdname mmap_array
#' @export
`[.MappedArray` <- function(x, ..., drop = TRUE) {
  expect_flag(drop)
  indices <- eval(substitute(alist(...)))
  free <- vapply(indices, function(index) is.symbol(index) && !nzchar(as.character(index)), NA)
  indices[!free] <- lapply(which(!free), function(i) ...elt(i))
  mapped_elements(x, indices, free, drop)
}

#' @rdname mmap_array
#' @export
`[[.MappedArray` <- function(x, ...) {
  values <- x[...]
  if (length(values) != 1L) {
    raise_("value", sprintf("argument `x`: expected one element, got %s", counted(length(values), "element")), "x")
  }
  values
}

#' @export
`$.MappedArray` <- function(x, name) refuse_part(name)

refuse_part <- function(name) {
  what <- "a MappedArray has elements, which `x[i]` gives, and no parts with names"
  raise_("value", sprintf("argument `x`: %s, got `%s`", what, name), "x")
}

#' @export
`[<-.MappedArray` <- function(x, ..., value) refuse_assignment()

#' @export
`[[<-.MappedArray` <- function(x, ..., value) refuse_assignment()

#' @export
`$<-.MappedArray` <- function(x, name, value) refuse_assignment()

refuse_assignment <- function() {
  what <- "elements of a MappedArray cannot be assigned"
  raise_("value", sprintf("argument `x`: %s; results are written back to the file by functions that do so", what), "x")
}

#' @importFrom utils str
#' @export
str.MappedArray <- function(object, ...) cat("", format(object), "\n")

# The elements at these indices, where those are `free` that are left out.
mapped_elements <- function(x, indices, free, drop) {
  size <- unclass(x)$shape
  rank <- length(size)
  if (length(indices) == rank && rank > 0L) {
    at <- Map(function(index, free, n) if (free) as.double(seq_len(n)) else positions(index, n), indices, free, size)
    return(elements_of(mapped_block(x, at), lapply(at, from_first), drop))
  }
  if (length(indices) == 0L || length(indices) == 1L && free) {
    return(as_array(x))
  }
  if (length(indices) != 1L) {
    got <- counted(length(indices), "index", "indices")
    raise_("value", sprintf("argument `x`: expected one index or %d, one for each dimension, got %s", rank, got), "x")
  }
  index <- indices[[1L]]
  if (rank == 0L) {
    return(elements_of(as_array(x), list(positions(index, 1))))
  }
  at <- if (is.matrix(index) && is.numeric(index) && ncol(index) == rank) {
    lapply(seq_len(rank), function(i) positions(index[, i], size[[i]]))
  } else {
    at <- arrayInd(positions(index, prod(size)), size)
    lapply(seq_len(rank), function(i) at[, i])
  }
  elements_of(mapped_block(x, at), list(do.call(cbind, lapply(at, from_first))))
}

# The part of the array between the first and the last of these positions in each dimension.
mapped_block <- function(x, at) {
  from <- vapply(at, function(i) if (length(i)) min(i) - 1 else 0, 0)
  sizes <- vapply(at, function(i) if (length(i)) max(i) - min(i) + 1 else 0, 0)
  rs_view_part(unclass(x)$view, from, sizes)
}

# Elements of R data, which keep the class of an `integer64`, also where bit64 is not loaded.
elements_of <- function(data, indices, drop = TRUE) {
  # A matrix of indices, and one index of several dimensions, give a vector.
  drop_too <- if (length(indices) > 1L || length(dim(data)) == 1L) list(drop = drop)
  values <- do.call(`[`, c(list(unclass(data)), indices, drop_too))
  if (inherits(data, "integer64")) class(values) <- "integer64"
  if (drop && length(dim(values)) == 1L) without_dim(values) else values
}

# What `as.vector()` leaves of an `integer64` are doubles near 0.
without_dim <- function(values) {
  if (inherits(values, "integer64")) structure(values, dim = NULL) else as.vector(values)
}

from_first <- function(at) if (length(at)) at - min(at) + 1 else integer()

# What an index of R stands for, along a dimension of `n` elements.
positions <- function(index, n) {
  if (!is.numeric(index) && !is.logical(index)) {
    refuse(index, "whole numbers or logicals as indices", "i")
  }
  at <- as.double(seq_len(n)[as.vector(index)])
  if (anyNA(at)) {
    raise_("value", sprintf("argument `i`: expected indices of %s, got others", counted(n, "element")), "i")
  }
  at
}

convert_in_mapped <- function(x, expected) unclass(x)$view

convert_out_mapped <- function(result, original, info) {
  rs_view_write(unclass(original)$view, result_buffer(result))
  original
}
