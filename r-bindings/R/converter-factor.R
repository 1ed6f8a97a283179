# `factor`: the codes of the levels.

convert_in_factor <- function(x, expected) {
  if (anyNA(unclass(x))) {
    stop(sprintf("element %d is NA, for which there is no code", which(is.na(unclass(x)))[[1L]]), call. = FALSE)
  }
  numbers_in(x, expected)
}

convert_out_factor <- function(result, original, info) {
  codes <- as_numbers(result)
  known <- codes >= 1 & codes <= nlevels(original) & codes == trunc(codes)
  wrong <- which(!(known %in% TRUE))
  if (length(wrong) > 0L) {
    stop(
      sprintf(
        "element %d of the result is %s, which is the code of none of the %d levels",
        wrong[[1L]], format(codes[[wrong[[1L]]]]), nlevels(original)
      ),
      call. = FALSE
    )
  }
  codes <- structure(as.integer(codes), dim = dim(codes), levels = levels(original), class = oldClass(original))
  like_original(codes, original)
}
