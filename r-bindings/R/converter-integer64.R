# `bit64::integer64`: 64 bits in place of a double.

convert_in_integer64 <- function(x, expected) {
  # At another dtype it is R data as any, with its `NA`.
  if (wanted_dtype(expected, "i64") != "i64") {
    return(x)
  }
  host_view(x, "i64", wanted_shape(expected, x), immutable = TRUE, convertible = TRUE)
}

convert_out_integer64 <- function(result, original, info) {
  x <- result_array(result)
  if (!inherits(x, "integer64")) {
    x <- bit64::as.integer64(x)
  }
  like_original(x, original)
}
