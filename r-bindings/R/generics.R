#' What an array is
#'
#' The element type, the sizes and the device of a buffer.
#'
#' If the package tengen is installed, these are its generics, and the methods for buffers are registered with it.
#'
#' @param x A buffer, an [AnvlArray], or another object with a method.
#' @param ... For methods.
#' @return `dtype()` a string with the class `DataType`, `shape()` an integer vector (empty for a scalar), `device()` a
#'   [PJRTDevice][pjrt_device].
#' @seealso [elt_type()] for an element type that can be compared.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(matrix(1:6, 2))
#' dtype(x)
#' shape(x)
#' device(x)
dtype <- function(x, ...) UseMethod("dtype")

#' @rdname dtype
#' @export
shape <- function(x, ...) UseMethod("shape")

#' @rdname dtype
#' @export
device <- function(x, ...) UseMethod("device")

# Who asks for what only another package knows is told by that: our generics may not be those of tengen, where it was
# installed or found after this package was loaded.
#' @export
dtype.default <- function(x, ...) ask_tengen("dtype", x, ...)

#' @export
shape.default <- function(x, ...) ask_tengen("shape", x, ...)

#' @export
device.default <- function(x, ...) ask_tengen("device", x, ...)

ask_tengen <- function(name, x, ...) {
  if (!missing(x) && isNamespaceLoaded("tengen") && name %in% getNamespaceExports("tengen")) {
    return(getExportedValue("tengen", name)(x, ...))
  }
  refuse(x, "a PJRTBuffer, or another object with a method")
}

# The error of a value that is not what was expected; its argument is the variable's name.
refuse <- function(x, expected, argument = deparse(substitute(x))) {
  got <- if (missing(x)) "none" else rs_describe(x)
  raise_("type", sprintf("argument `%s`: expected %s, got %s", argument, expected, got), argument)
}

# The generics that tengen has too.
tengen_generics <- c("dtype", "shape", "device", "as_array", "as_raw")

# Where tengen is installed, its generics take the place of ours, so that attaching both packages hides nothing.
# It is named by a variable, as no repository has it that DESCRIPTION could send people to.
use_tengen <- function(ns, package = "tengen") {
  if (requireNamespace(package, quietly = TRUE)) {
    for (name in intersect(tengen_generics, getNamespaceExports(package))) {
      assign(name, getExportedValue(package, name), envir = ns)
    }
  } else {
    registerS3method("print", "DataType", print_dtype, envir = ns)
  }
  when_loaded("tengen", function() register_methods(ns, "tengen", tengen_generics))
}

use_safetensors <- function(ns) {
  when_loaded("safetensors", function() {
    register_methods(ns, "safetensors", c("safe_tensor_buffer", "safe_tensor_meta"))
  })
}

# The methods of anvl for its own class count, not ours, also where it was loaded before this package.
use_anvl <- function(ns) {
  when_loaded("anvl", function() {
    anvl <- asNamespace("anvl")
    for (method in intersect(grep("\\.AnvlArray$", ls(ns), value = TRUE), ls(anvl))) {
      registerS3method(sub("\\.AnvlArray$", "", method), "AnvlArray", get(method, anvl), envir = anvl)
    }
  })
}

# Does something with another package: now if it is loaded, else when it is.
when_loaded <- function(package, action) {
  if (isNamespaceLoaded(package)) {
    action()
  }
  setHook(packageEvent(package, "onLoad"), function(...) action())
}

# Registers our methods of these generics with another package, as far as it has them.
register_methods <- function(ns, package, generics) {
  for (name in intersect(generics, getNamespaceExports(package))) {
    for (method in grep(paste0("^", name, "\\.(PJRT|AnvlArray|MappedArray)"), ls(ns), value = TRUE)) {
      class <- substring(method, nchar(name) + 2L)
      registerS3method(name, class, get(method, ns), envir = asNamespace(package))
    }
  }
}

print_dtype <- function(x, ...) {
  cat("<", unclass(x), ">\n", sep = "")
  invisible(x)
}
