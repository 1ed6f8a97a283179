#' @keywords internal
#' @useDynLib pjrtdispatch, .registration = TRUE
"_PACKAGE"

`%||%` <- function(x, y) if (is.null(x)) y else x
