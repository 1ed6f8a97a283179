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

# What the converter of a class gives on the way in, and on the way back.
convert_in <- function(class, x, dtype = NULL, shape = NULL, copy = NULL) {
  shipped(class, "in")(x, expected_of(dtype, shape, copy))
}

convert_out <- function(class, result, original) {
  shipped(class, "out")(result, original, list(`function` = "f", argument = "x", index = 1L))
}

shipped <- function(class, way) {
  name <- switch(class,
    Date = "days", POSIXct = "seconds", data.frame = "columns", denseMatrix = "dense", sparseMatrix = "sparse",
    big.matrix = "big", H5D = "hdf5", numpy.ndarray = "numpy", MappedArray = "mapped", class
  )
  getFromNamespace(sprintf("convert_%s_%s", way, name), "pjrtdispatch")
}

# How many bytes the converter with this description has copied.
bytes_of <- function(description) {
  listed <- converters()
  listed$bytes_copied[listed$description == description]
}

# How many it copies for an expression.
bytes_for <- function(description, expr) {
  before <- bytes_of(description)
  force(expr)
  bytes_of(description) - before
}
