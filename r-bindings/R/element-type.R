#' The element type of a buffer
#'
#' @param x A buffer, or the name of an element type.
#' @param e1,e2 Element types or their names.
#' @return A `PJRTElementType`, which [as.character()] turns into its name. `==` and `!=` compare.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' elt_type(pjrt_buffer(1))
#' elt_type(pjrt_buffer(1)) == "f32"
#' as.character(elt_type(pjrt_buffer(TRUE)))
elt_type <- function(x) {
  if (missing(x)) refuse(x, "a PJRTBuffer or the name of a dtype")
  if (inherits(x, "PJRTBuffer")) rs_buffer_dtype(x, "PJRTElementType") else rs_dtype(x, "PJRTElementType", "x")
}

#' @export
as.character.PJRTElementType <- function(x, ...) unclass(x)

#' @export
format.PJRTElementType <- function(x, ...) sprintf("<%s>", unclass(x))

#' @export
print.PJRTElementType <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @rdname elt_type
#' @export
`==.PJRTElementType` <- function(e1, e2) rs_dtype(e1, NULL, "e1") == rs_dtype(e2, NULL, "e2")

#' @rdname elt_type
#' @export
`!=.PJRTElementType` <- function(e1, e2) rs_dtype(e1, NULL, "e1") != rs_dtype(e2, NULL, "e2")
