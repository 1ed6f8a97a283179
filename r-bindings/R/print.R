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
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(matrix(1:60, 20), dtype = "f32")
#' print(x, max_rows = 3)
#' print(x, max_rows = 1, header = FALSE, footer = "and so on")
#' format_buffer(pjrt_buffer(c(1, NaN, 1e-300), dtype = "f64"))
print.PJRTBuffer <- function(x,
                             max_rows = getOption("pjrt.print_max_rows", 30L),
                             max_width = getOption("pjrt.print_max_width", getOption("width")),
                             max_rows_slice = getOption("pjrt.print_max_rows_slice", max_rows),
                             header = TRUE,
                             footer = NULL,
                             ...) {
  max_rows <- expect_count(max_rows, "max_rows")
  max_width <- expect_count(max_width, "max_width")
  max_rows_slice <- expect_count(max_rows_slice, "max_rows_slice")
  if (!isTRUE(header) && !isFALSE(header)) {
    refuse(header, "TRUE or FALSE")
  }
  if (!is.null(footer) && !is.character(footer)) {
    refuse(footer, "lines of text, or NULL")
  }
  if (header) {
    cat(format(x), "\n", sep = "")
  }
  # A buffer without content is told of above; there is nothing to show.
  if (!header || has_content(x)) {
    print_array(shown_array(x), max_rows, max_width, max_rows_slice)
  }
  if (!is.null(footer)) {
    cat(footer, sep = "\n")
  }
  invisible(x)
}

# What a program prints by the custom call `print_tensor`, see `custom_call_targets`. Rust calls this.
show_ <- function(data, header, footer) {
  if (nzchar(header)) {
    cat(header, "\n", sep = "")
  }
  # An option that is wrong must not end the call in which the program ran.
  limit <- function(name, default) {
    value <- getOption(name, default)
    if (is.numeric(value) && length(value) == 1L && !is.na(value) && value >= 1) expect_count(value, name) else default
  }
  max_rows <- limit("pjrt.print_max_rows", 30L)
  print_array(
    data, max_rows, limit("pjrt.print_max_width", getOption("width")), limit("pjrt.print_max_rows_slice", max_rows)
  )
  if (nzchar(footer)) {
    cat(footer, "\n", sep = "")
  }
}

# A number of lines or characters; `Inf` is no limit.
expect_count <- function(x, argument) {
  if (!is.numeric(x) || is.object(x) || length(x) != 1L || is.na(x) || x < 1) {
    got <- if (is.numeric(x) && length(x) == 1L) format(x) else rs_describe(x)
    raise_("value", sprintf("argument `%s`: expected a number from 1 on, got %s", argument, got), argument)
  }
  min(floor(x), .Machine$integer.max)
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
  # What a double needs to be read back.
  exact <- function(x) trimws(ifelse(is.na(x) & !is.nan(x), "NA", formatC(x, digits = 17L, format = "g")))
  text <- if (is.logical(data)) {
    ifelse(data, "true", "false")
  } else if (is.complex(data)) {
    imaginary <- exact(Im(c(data)))
    paste0(exact(Re(c(data))), ifelse(startsWith(imaginary, "-"), "", "+"), imaginary, "i")
  } else if (is.double(data) && !inherits(data, "integer64")) {
    exact(c(data))
  } else {
    # Also those that R has no number for.
    rs_buffer_integers(buffer)
  }
  array(text, if (length(dim(data))) dim(data) else length(data))
}

# A buffer as R prints it. Of 64 bits as text, also where bit64 is not installed.
shown_array <- function(x) {
  data <- as_array(x)
  if (!inherits(data, "integer64")) {
    return(data)
  }
  text <- rs_integer64_text(data)
  if (rs_buffer_dtype(x, NULL) == "ui64") {
    text <- rs_buffer_integers(x)
  }
  array(text, dim(data) %||% length(data))
}

# Prints an array as R does, but not more of it than asked for. Text is numbers.
print_array <- function(data, max_rows, max_width, max_rows_slice) {
  sizes <- dim(data)
  if (length(data) == 0L) {
    cat("(no elements)\n")
  } else if (length(sizes) <= 1L) {
    print_vector(as.vector(data), max_rows, max_width)
  } else if (length(sizes) == 2L) {
    print_matrix(data, max_rows, max_rows, max_width)
  } else {
    print_slices(data, max_rows, max_width, max_rows_slice)
  }
}

print_vector <- function(data, max_rows, max_width) {
  # No line has more elements than characters.
  shown <- head_of(data, max_rows * max_width)
  lines <- capture(if (is.character(shown)) noquote(right_aligned(shown)) else shown, max_width)
  cat(head_of(lines, max_rows), sep = "\n")
  if (length(shown) < length(data) || length(lines) > max_rows) {
    cat("... and more\n")
  }
}

# The first rows and columns of a matrix, in as few lines as `max_lines`, but in one block of columns at least.
print_matrix <- function(data, max_rows, max_lines, max_width) {
  rows <- min(nrow(data), max_rows)
  blocks <- max(1, max_lines %/% rows)
  # A column is two characters wide at least.
  columns <- min(ncol(data), ceiling(max(max_width, 10) / 2) * blocks)
  part <- data[seq_len(rows), seq_len(columns), drop = FALSE]
  lines <- head_of(capture(if (is.character(part)) noquote(part, right = TRUE) else part, max_width), blocks * (rows + 1))
  cat(lines, sep = "\n")
  titles <- lines[seq(1, length(lines), by = rows + 1)]
  shown <- sum(lengths(regmatches(titles, gregexpr("[,", titles, fixed = TRUE))))
  more <- c(rows = nrow(data) - rows, columns = ncol(data) - shown)
  more <- more[more > 0]
  if (length(more)) {
    cat("... ", paste(sprintf("%.0f more %s", more, names(more)), collapse = " and "), "\n", sep = "")
  }
}

print_slices <- function(data, max_rows, max_width, max_rows_slice) {
  sizes <- dim(data)
  slices <- prod(sizes[-(1:2)])
  rows <- min(sizes[[1L]], max_rows_slice)
  shown <- min(slices, max(1, max_rows %/% (rows + 1)))
  flat <- array(data, c(sizes[1:2], slices))
  for (slice in seq_len(shown)) {
    cat(", , ", paste(arrayInd(slice, sizes[-(1:2)]), collapse = ", "), "\n\n", sep = "")
    print_matrix(matrix(flat[, , slice], sizes[[1L]]), max_rows_slice, max_rows, max_width)
    cat("\n")
  }
  if (shown < slices) {
    cat(sprintf("... %.0f more slices\n", slices - shown))
  }
}

head_of <- function(x, n) if (length(x) > n) x[seq_len(n)] else x

right_aligned <- function(text) formatC(text, width = max(nchar(text)))

capture <- function(x, width) {
  old <- options(width = max(10L, min(as.integer(width), 10000L)), max.print = .Machine$integer.max)
  on.exit(options(old))
  utils::capture.output(print(x))
}
