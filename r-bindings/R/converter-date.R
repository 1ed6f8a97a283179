# `Date`: days since 1970, kept as doubles or integers.

convert_in_days <- function(x, expected) {
  refuse_rounded(unclass(x), expected, "the days")
  numbers_in(x, expected)
}

convert_out_days <- function(result, original, info) {
  like_original(structure(as_numbers(result), class = oldClass(original)), original)
}

# The elements of a result as doubles without a class.
as_numbers <- function(result) {
  x <- result_array(result)
  structure(as.double(x), dim = dim(x))
}
