# `difftime`: a number of the units that the object has.

convert_in_difftime <- function(x, expected) {
  refuse_rounded(unclass(x), expected, paste("the", attr(x, "units")))
  numbers_in(x, expected)
}

convert_out_difftime <- function(result, original, info) {
  like_original(structure(as_numbers(result), class = oldClass(original), units = attr(original, "units")), original)
}
