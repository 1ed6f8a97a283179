# `POSIXct`: seconds since 1970 in UTC, whatever the time zone that they are shown in.

convert_in_seconds <- function(x, expected) {
  refuse_rounded(unclass(x), expected, "the seconds")
  numbers_in(x, expected)
}

convert_out_seconds <- function(result, original, info) {
  like_original(structure(as_numbers(result), class = oldClass(original), tzone = attr(original, "tzone")), original)
}
