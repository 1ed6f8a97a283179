# The layout in which the last two dimensions are a matrix in columns, as LAPACK has it; or the usual one, of vectors.
columns_layout <- function(shape, is_matrix) {
  n <- length(shape)
  order <- if (is_matrix) c(n - 2L, n - 1L, rev(seq_len(n - 2L)) - 1L) else rev(seq_len(n)) - 1L
  sprintf("dense<[%s]> : tensor<%dxindex>", paste(order, collapse = ", "), n)
}

# The text of an operation that calls a target. Operands and results are lists of `list(shape, dtype)`. The first operand
# is a matrix, or a batch of them, and so is what has as many dimensions.
custom_call <- function(target, names, operands, results, config = "", layouts = TRUE, effect = FALSE) {
  type <- function(x) paste(vapply(x, function(x) mlir_type(x[[2L]], x[[1L]]), ""), collapse = ", ")
  rank <- length(operands[[1L]][[1L]])
  layout <- function(x) {
    paste(vapply(x, function(x) columns_layout(x[[1L]], rank > 1L && length(x[[1L]]) == rank), ""), collapse = ", ")
  }
  paste0(
    "stablehlo.custom_call @", target, "(", paste(names, collapse = ", "), ") {api_version = 4 : i32",
    if (nzchar(config)) sprintf(", backend_config = {%s}", config),
    if (effect) ", has_side_effect = true",
    if (layouts) {
      sprintf(", operand_layouts = [%s], result_layouts = [%s]", layout(operands), layout(results))
    },
    "} : (", type(operands), ") -> (", type(results), ")"
  )
}

# A program that is one call of a target: what its arguments are, and what it gives.
call_program <- function(target, operands, results, ...) {
  types <- vapply(c(operands, results), function(x) mlir_type(x[[2L]], x[[1L]]), "")
  inputs <- types[seq_along(operands)]
  outputs <- types[-seq_along(operands)]
  names <- sprintf("%%a%d", seq_along(operands))
  given <- if (length(results) == 1L) "%r" else sprintf("%%r#%d", seq_along(results) - 1L)
  pjrt_program(c(
    sprintf("func.func @main(%s) -> (%s) {", paste0(names, ": ", inputs, collapse = ", "), paste(outputs, collapse = ", ")),
    paste0("  %r:", length(results), " = ", custom_call(target, names, operands, results, ...)),
    sprintf("  return %s : %s", paste(given, collapse = ", "), paste(outputs, collapse = ", ")),
    "}"
  ))
}

# Calls a target on arrays of one dtype; R arrays.
call_target <- function(target, args, results, dtype = "f64", ...) {
  operands <- lapply(args, function(x) list(dim(x) %||% length(x), dtype))
  executable <- pjrt_compile(call_program(target, operands, results, ...))
  buffers <- lapply(args, function(x) pjrt_buffer(x, dtype = dtype, shape = dim(x) %||% length(x)))
  lapply(do.call(pjrt_execute, c(list(executable), buffers, simplify = FALSE)), as_array)
}
