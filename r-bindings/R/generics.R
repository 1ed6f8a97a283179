#' What an array is
#'
#' The element type, the sizes and the device of a buffer.
#'
#' If the package tengen is installed, these are its generics, and the methods for buffers are registered with it.
#'
#' @param x A buffer, or another object with a method.
#' @param ... For methods.
#' @return `dtype()` a string with the class `DataType`, `shape()` an integer vector (empty for a scalar), `device()` a
#'   [PJRTDevice][pjrt_device].
#' @export
dtype <- function(x, ...) UseMethod("dtype")

#' @rdname dtype
#' @export
shape <- function(x, ...) UseMethod("shape")

#' @rdname dtype
#' @export
device <- function(x, ...) UseMethod("device")

# The generics that tengen has too.
tengen_generics <- c("dtype", "shape", "device", "as_array", "as_raw")

# Where tengen is installed, its generics take the place of ours, so that attaching both packages hides nothing.
use_tengen <- function(ns) {
  if (!requireNamespace("tengen", quietly = TRUE)) {
    return()
  }
  tengen <- asNamespace("tengen")
  for (name in intersect(tengen_generics, getNamespaceExports(tengen))) {
    methods <- grep(paste0("^", name, "\\.(PJRT|AnvlArray)"), ls(ns), value = TRUE)
    for (method in methods) {
      class <- substring(method, nchar(name) + 2L)
      registerS3method(name, class, get(method, ns), envir = tengen)
    }
    assign(name, get(name, tengen), envir = ns)
  }
}
