#' Printing buffers
#'
#' `print()` shows a buffer as R shows an array, below its dtype, sizes and device. Of a large one the first rows are
#' shown. `format_buffer()` gives the elements as text from which the values can be read back exactly.
#'
#' @param x,buffer A buffer.
#' @param max_rows How many lines of elements are shown.
#' @param max_width How wide a line may be.
#' @param max_rows_slice How many rows of each matrix are shown in an array of more dimensions.
#' @param header Whether the line with dtype, sizes and device is shown.
#' @param footer A line to show at the end.
#' @param ... Not used.
#' @return `print()` gives `x`, invisibly; `format_buffer()` a character array of the buffer's shape.
#' @export
print.PJRTBuffer <- function(x,
                             max_rows = getOption("pjrt.print_max_rows", 30L),
                             max_width = getOption("pjrt.print_max_width", getOption("width")),
                             max_rows_slice = getOption("pjrt.print_max_rows_slice", max_rows),
                             header = TRUE,
                             footer = NULL,
                             ...) {
  if (header) {
    cat(format(x), "\n", sep = "")
  }
  # A buffer without content is told of above; there is nothing to show.
  if (!header || has_content(x)) {
    print_array(as_array(x), max_rows, max_width, max_rows_slice)
  }
  if (!is.null(footer)) {
    cat(footer, "\n", sep = "")
  }
  invisible(x)
}

# Whether a buffer was neither released nor donated.
has_content <- function(x) {
  tryCatch(
    {
      rs_buffer_await(x)
      TRUE
    },
    pjrtdispatch_error = function(e) !e$code %in% c("dead", "donated")
  )
}

#' @export
format.PJRTBuffer <- function(x, ...) sprintf("<PJRTBuffer %s>", rs_buffer_about(x))

#' @rdname print.PJRTBuffer
#' @export
format_buffer <- function(buffer) {
  data <- as_array(buffer)
  text <- if (is.logical(data)) {
    ifelse(data, "true", "false")
  } else if (inherits(data, "integer64")) {
    # Also where bit64 is not installed.
    rs_integer64_text(data)
  } else if (is.double(data)) {
    formatC(as.vector(data), digits = 17L, format = "g", width = 1L)
  } else {
    as.character(data)
  }
  array(text, if (length(dim(data))) dim(data) else length(data))
}

# Prints an array, but not more of it than asked for.
print_array <- function(data, max_rows, max_width, max_rows_slice) {
  sizes <- dim(data)
  if (inherits(data, "integer64")) {
    data <- array(rs_integer64_text(data), if (is.null(sizes)) 1L else sizes)
    data <- noquote(data, right = TRUE)
  }
  if (length(data) == 0L) {
    cat("(no elements)\n")
    return()
  }
  if (length(sizes) <= 1L) {
    # No line has more elements than characters.
    shown <- head_of(as.vector(unclass(data)), max_rows * max_width)
    lines <- capture(if (is.character(shown)) noquote(shown) else shown, max_width)
    cut_lines(lines, max_rows, length(shown) < length(data))
    return()
  }
  rows <- min(sizes[[1L]], if (length(sizes) == 2L) max_rows else max_rows_slice)
  slices <- prod(sizes[-(1:2)])
  shown <- min(slices, max(1, max_rows %/% (rows + 1)))
  flat <- array(unclass(data), c(sizes[1:2], slices))
  for (slice in seq_len(shown)) {
    if (length(sizes) > 2L) {
      index <- arrayInd(slice, sizes[-(1:2)])
      cat(", , ", paste(index, collapse = ", "), "\n", sep = "")
    }
    part <- matrix(flat[seq_len(rows), , slice], rows, sizes[[2L]])
    lines <- capture(if (is.character(part)) noquote(part, right = TRUE) else part, max_width)
    cat(lines, sep = "\n")
    if (rows < sizes[[1L]]) {
      cat(sprintf("... %d more rows\n", sizes[[1L]] - rows))
    }
  }
  if (shown < slices) {
    cat(sprintf("... %d more slices\n", slices - shown))
  }
}

head_of <- function(x, n) if (length(x) > n) x[seq_len(n)] else x

capture <- function(x, width) {
  old <- options(width = max(10L, min(as.integer(width), 10000L)))
  on.exit(options(old))
  utils::capture.output(print(x))
}

cut_lines <- function(lines, max_rows, more) {
  cat(head_of(lines, max_rows), sep = "\n")
  if (more || length(lines) > max_rows) {
    cat("... and more\n")
  }
}
