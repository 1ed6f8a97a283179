# A package whose objects are converted: `scripts/setup r` installs it, so where `scripts/test-r` runs the tests it is there.
use_package <- function(package) {
  if (identical(Sys.getenv("NOT_CRAN"), "true")) {
    expect_true(requireNamespace(package, quietly = TRUE), label = paste("the package", package, "is installed"))
  } else {
    skip_if_not_installed(package)
  }
}

# Like `use_package()`, for numpy.
use_numpy <- function() {
  use_package("reticulate")
  if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
    skip_if_not(reticulate::py_module_available("numpy"), "numpy is not installed")
  }
  reticulate::import("numpy", convert = FALSE)
}

# The buffer of a view that a converter gives, and how many bytes were copied for it.
brought <- function(view, dtype = NULL, copy = "if_needed") {
  pjrtdispatch:::rs_view_to_buffer(view, dtype, copy, NULL)
}

# What is on the device after a view was brought there.
values_of <- function(view, dtype = NULL, copy = "if_needed") as_array(brought(view, dtype, copy)$buffer)

# What a converter is asked for.
expected_of <- function(dtype = NULL, shape = NULL, copy = NULL) list(dtype = dtype, shape = shape, path = "x", copy = copy)
