# Methods for the generics of the package safetensors, which writes arrays to files; registered when it is loaded.

# The bytes as the format wants them: row-major.
safe_tensor_buffer.PJRTBuffer <- function(x, ...) rs_buffer_as_raw(x, TRUE)

# `I()`: the sizes are a list in the file's header, also if there is one.
safe_tensor_meta.PJRTBuffer <- function(x, ...) {
  list(shape = I(rs_buffer_shape(x)), dtype = safetensors_dtype(rs_buffer_dtype(x, NULL)))
}

safe_tensor_buffer.AnvlArray <- function(x, ...) safe_tensor_buffer.PJRTBuffer(buffer_of(x))

safe_tensor_meta.AnvlArray <- function(x, ...) safe_tensor_meta.PJRTBuffer(buffer_of(x))

# What the format calls a dtype.
safetensors_dtype <- function(dtype) {
  if (dtype == "c128") {
    raise_("dtype", "argument `x`: expected a dtype that the format safetensors has, got c128", "x")
  }
  toupper(sub("^ui", "u", dtype))
}

# The buffer of an AnvlArray.
buffer_of <- function(x) {
  data <- data_of(x)
  if (!inherits(data, "PJRTBuffer")) {
    raise_("type", sprintf("argument `x$data`: expected a PJRTBuffer, got %s", rs_describe(data)), "x$data")
  }
  data
}
