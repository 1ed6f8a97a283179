#' Converters that ship
#'
#' Objects of these classes are arguments wherever an array is one; none of their packages is required.
#'
#' | class | dtype | on the way in | written back |
#' |---|---|---|---|
#' | `integer64` of bit64 | `i64` | where it lies | an `integer64` |
#' | `Date` | `f64`, `i32` if it is kept so | days since 1970 | a `Date` |
#' | `POSIXct` | `f64` | seconds since 1970 in UTC | a `POSIXct` of the same time zone |
#' | `difftime` | `f64` | in its own units | a `difftime` of the same units |
#' | `factor` | `i32` | codes from 1 on; `NA` is an error | a factor with the same levels |
#' | `data.frame` | `f64` | a matrix; all columns have to be numeric | a data frame with the same names |
#' | dense matrices of Matrix | `f64`, `bool` | where they lie | a dense `Matrix` |
#' | sparse matrices of Matrix | `f64`, `bool` | an error, unless they may be made dense, see below | a sparse `Matrix` |
#' | `big.matrix` of bigmemory | `i8` `ui8` `i16` `i32` `f32` `f64` | from the shared memory or the file | into it |
#' | `H5D` of hdf5r | that of the data set | read a part at a time into the device's memory | into the data set |
#' | `numpy.ndarray` of reticulate | its own | where it lies | into it |
#' | `MappedArray` of [mmap_array()] | its own | where it lies | into the file |
#'
#' The dtype is the one where none is expected. Where another is, numbers are converted as R data is: to a float they are rounded,
#' to an integer they have to fit. Times are an exception: one that a shorter float type would round is an error.
#'
#' Missing values are what R has for them, in `f64` a `NA`; in an integer type they are an error. A `big.matrix` is taken as its
#' memory is, where the least number of a type stands for `NA`.
#'
#' Long vectors in a compact form such as `1:1e8`, whose elements R makes when they are needed, are brought to a device piece by
#' piece, wherever data of R is taken; they stay compact.
#'
#' @section What is copied:
#' A dense matrix, a `big.matrix`, an array of numpy and a mapped array are copied once, from where they lie to the device. On a
#' CPU an array of numpy is not copied at all if it cannot be written to, nor can what it is a part of (`x.flags.writeable =
#' False`), if it is row-major and begins at a multiple of 64 bytes; and so can a mapped array be that is declared immutable. The
#' Python object lives until the device is done with it. With `copy = "never"` ([with_copy()]) anything else is an error that
#' says why.
#'
#' Vectors of R in the elements of which nothing is converted, as those of an `integer64` or a `POSIXct`, may be used where they lie,
#' since R copies a vector before it changes it. Some packages change vectors in place; `with_copy("always", …)` is for these.
#'
#' The columns of data frames are put together in the device's memory, and so are data sets, of which no more than a few
#' megabytes are in R's memory at a time. Of a `big.matrix` in columns of their own, or one that is not shared, this is done too.
#'
#' A [dispatcher()] of a backend other than `"pjrt"` gets the elements as data of R, which is a copy: of all that logical, integer or
#' double data of R holds. So `integer64` is an error there.
#'
#' @section Sparse matrices:
#' To make one dense may take far more memory than it has itself. So its converter is registered with `copy = "never"`, and
#' the error says how many bytes it would take. `with_copy("if_needed", …)` allows it for a call.
#'
#' @seealso [register_converter()] for further ones; [set_converter_status()] to switch one off.
#' @name shipped_converters
NULL

# Registers the converters that ship, when the package is loaded. They are functions only: no package is loaded for them.
use_converters <- function() {
  register_converter("integer64", convert_in_integer64, convert_out_integer64, "bit64::integer64")
  register_converter("Date", convert_in_days, convert_out_days, "Date")
  register_converter("POSIXct", convert_in_seconds, convert_out_seconds, "POSIXct")
  register_converter("difftime", convert_in_difftime, convert_out_difftime, "difftime")
  register_converter("factor", convert_in_factor, convert_out_factor, "factor")
  register_converter("data.frame", convert_in_columns, convert_out_columns, "data.frame")
  register_converter("denseMatrix", convert_in_dense, convert_out_dense, "Matrix::denseMatrix")
  register_converter("sparseMatrix", convert_in_sparse, convert_out_sparse, "Matrix::sparseMatrix", copy = "never")
  register_converter("big.matrix", convert_in_big, convert_out_big, "bigmemory::big.matrix")
  register_converter("H5D", convert_in_hdf5, convert_out_hdf5, "hdf5r::H5D")
  register_converter("numpy.ndarray", convert_in_numpy, convert_out_numpy, "reticulate::numpy.ndarray")
  register_converter("MappedArray", convert_in_mapped, convert_out_mapped, "MappedArray")
}

# The dtype for data of one of its own: that, if it is not known what is expected or that is among it, else the first expected.
wanted_dtype <- function(expected, own) {
  dtypes <- as.character(expected$dtype)
  if (length(dtypes) == 0L || own %in% dtypes) own else dtypes[[1L]]
}

# The sizes of a vector: of one element without dimensions, where a scalar is expected, none.
wanted_shape <- function(expected, x) {
  if (!is.null(dim(x))) return(dim(x))
  is_scalar <- !is.null(expected$shape) && length(expected$shape) == 0L && length(x) == 1L
  if (is_scalar) integer() else length(x)
}

# A view of the numbers of a vector of any class, as they lie. The integer that is `NA` would be a number to who gets it.
numbers_in <- function(x, expected) {
  if (typeof(x) == "integer" && anyNA(x)) {
    x <- structure(as.double(x), dim = dim(x))
  }
  dtype <- if (typeof(x) == "integer") "i32" else "f64"
  host_view(x, dtype, wanted_shape(expected, x), immutable = TRUE, convertible = TRUE)
}

# Refuses numbers that a float type, in which they would go, rounds: who takes a time for a number wants all of it.
refuse_rounded <- function(x, expected, what) {
  dtype <- wanted_dtype(expected, "f64")
  # Others round nothing, and are looked through nowhere.
  digits <- c(f32 = 24, c64 = 24, f16 = 11, bf16 = 8)[dtype]
  if (is.na(digits)) {
    return()
  }
  lost <- which(is_rounded(x, digits, least = if (dtype == "f16") -14 else -126))
  if (length(lost) > 0L) {
    value <- format(x[[lost[[1L]]]], digits = 15L)
    stop(sprintf("dtype %s would round %s, %s of element %d", dtype, value, what, lost[[1L]]), call. = FALSE)
  }
}

# Which numbers have more binary digits than that, where `least` is the exponent of the least one that has all of them.
is_rounded <- function(x, digits, least) {
  exponent <- pmax(floor(log2(abs(x))), least)
  steps <- x / 2^(exponent - digits + 1)
  is.finite(steps) & steps != trunc(steps)
}

# The buffer of a result.
result_buffer <- function(result) {
  if (inherits(result, "AnvlArray")) return(buffer_of(result))
  if (inherits(result, "PJRTBuffer")) result else pjrt_buffer(result, if (is.double(result)) "f64")
}

# The elements of a result, as a vector or an array of more than one dimension.
result_array <- function(result) {
  x <- as_array(result_buffer(result))
  if (length(dim(x)) == 1L) dim(x) <- NULL
  x
}

# Dimensions and names of the original, if the result is as large.
like_original <- function(x, original) {
  if (is.null(dim(x)) && length(x) == length(original)) names(x) <- names(original)
  if (identical(dim(x), dim(original))) dimnames(x) <- dimnames(original)
  x
}
