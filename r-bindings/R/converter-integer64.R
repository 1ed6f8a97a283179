# `bit64::integer64`: R data that all take as it is.

convert_in_integer64 <- function(x, expected) x

convert_out_integer64 <- function(result, original, info) {
  x <- result_array(result)
  if (!inherits(x, "integer64")) {
    x <- bit64::as.integer64(x)
  }
  like_original(x, original)
}
