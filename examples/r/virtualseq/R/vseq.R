#' Virtual sequences
#'
#' `vseq(n)` is the sequence 1, 2, ..., `n`, of which it stores only `n`. `as.integer()` and `as.double()` say which elements it
#' stands for; they compute none.
#'
#' Where a compiled program wants an array of integers, a `VirtualIntegerSequence` may be given: a converter of this package,
#' written in Rust, makes the elements. A `VirtualDoubleSequence` may be given for an array of doubles, by a converter in R,
#' which also knows the way back: of a result that is written back into the sequence, it gives the first element.
#'
#' @param len The length.
#' @param x A virtual sequence.
#' @param ... Not used.
#' @return A `VirtualSequence`.
#' @seealso [pjrtdispatch::register_converter()] for what converters are.
#' @export
#' @importFrom pjrtdispatch family_stats register_converter
#' @useDynLib virtualseq, .registration = TRUE
#' @examples
#' v <- vseq(10)
#' length(v)
#' class(as.integer(v))
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#'
#' pjrtdispatch::as_array(total(as.integer(v)))
#' first_is_sum(as.double(v))
vseq <- function(len) {
  is_length <- is.numeric(len) && length(len) == 1L && isTRUE(len >= 0 && len <= .Machine$integer.max && len == trunc(len))
  if (!is_length) {
    stop("argument `len`: expected a whole number that is not negative, got ", deparse(len, nlines = 1L))
  }
  structure(as.integer(len), class = "VirtualSequence")
}

#' @rdname vseq
#' @export
as.integer.VirtualSequence <- function(x, ...) as_virtual(x, "VirtualIntegerSequence")

#' @rdname vseq
#' @export
as.double.VirtualSequence <- function(x, ...) as_virtual(x, "VirtualDoubleSequence")

#' @rdname vseq
#' @export
length.VirtualSequence <- function(x) as.integer(unclass(x))

#' @export
format.VirtualSequence <- function(x, ...) sprintf("<%s of length %d>", class(x)[[1L]], length(x))

#' @export
print.VirtualSequence <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# The class says what the elements are.
as_virtual <- function(x, class) structure(unclass(x), class = c(class, "VirtualSequence"))

# The elements, as numbers.
convert_double_sequence <- function(x, expected) as.numeric(seq_len(length(x)))

# The first element of a result.
reverse_double_scalar <- function(result, original, info) pjrtdispatch::as_array(result)[[1L]]
