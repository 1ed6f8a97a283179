#' Skeletons
#'
#' A skeleton is a program that is compiled once for inputs of fixed layouts, its *slots*, which may have names. A run only
#' compares the inputs with the slots and starts the program. What it costs in memory is known before.
#'
#' `pjrt_skeleton()` compiles a program, `run()` runs it, `memory_report()` tells what a run needs. See [dynamic_skeleton()]
#' for inputs of several layouts.
#'
#' @section Slots:
#' The layout of a slot is a string such as `"f32[2,3]"` (`"f32[]"` of a scalar), a list with `dtype` and `shape`, or an
#' array that has it. They come in the order of the program's arguments, whose dtypes and shapes they have to have. Without
#' `slots` they are the arguments that the program takes, under the names in its text: the slot of `%x` is `x`; `%0`
#' and `%arg0` have no names.
#'
#' @section Inputs:
#' Inputs with the name of a slot are for that slot; those without a name are for the others, in order. An input is
#' a buffer, an [AnvlArray], or R's own data: a logical, integer, double or complex vector or array without a class, or a
#' `bit64::integer64`. A matrix or an array has its dimensions. A vector has one, but of length 1 it is a scalar where
#' the slot is one.
#'
#' The layout has to be that of the slot, exactly: nothing is filled up, cut off or transposed. R's data is uploaded at the
#' slot's dtype, exactly or with rounding to the nearest number of floating point; what the dtype does not hold (a
#' fraction in an integer type, a number out of range) is an error. An `NA` becomes `NaN` in a floating-point type, and
#' is an error in others. Logical data is for `bool` only.
#'
#' @section Time:
#' The user can interrupt a compile; `options(pjrtdispatch.verbose = TRUE)` logs it, and [pjrt_cache()] tells how to have it
#' only once for all sessions. A run may go on after `run()` returns,
#' see [await()].
#'
#' @section Errors:
#' Before anything runs, by the name of the slot, or as `...[[2]]` where it has none: an input that is missing, too many, or of
#' a name that no slot has; one of another dtype or shape than the slot's, on another device, donated or released; R data
#' that the dtype does not hold. `pjrt_skeleton()` refuses slots that are not what the program takes.
#'
#' @section Donated inputs:
#' Without `slots`, a program may take over the memory of an input for a result, as with [pjrt_execute()]. The buffer is gone
#' afterwards: using it is an error, and so is passing it twice. Of R's own data it is the uploaded copy.
#'
#' @param program A [program][pjrt_program()], or StableHLO as text.
#' @param slots A list or character vector of layouts, with names or without; `NULL` for those that the program takes.
#' @param device The [device][pjrt_device] to compile for, or the name of one; `NULL` is the default.
#' @param .skeleton,skeleton A skeleton; `run()` also takes a [dynamic one][dynamic_skeleton()], or another object with a
#'   method.
#' @param ... The inputs, by name or in the order of the slots. In `print()` not used.
#' @param x A skeleton.
#' @return `pjrt_skeleton()` a `PJRTSkeleton`. `run()` the buffer that the program gives, or a list of buffers if it gives
#'   another number than one. `memory_report()` a `PJRTMemoryReport`, a list of numbers as the compiler reckons:
#'   * `peak_bytes`, the most that a run holds at once,
#'   * `output_bytes` and `argument_bytes`, its results and its inputs; several results come with a table of 8 bytes for
#'     each,
#'   * `allocations`, how often it allocates: for each result, and once for scratch memory if there is any.
#' @seealso [dynamic_skeleton()] for inputs of several layouts, [dispatcher()] for functions of R's data and static values.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' skeleton <- pjrt_skeleton("
#'   func.func @main(%x: tensor<3xf32>, %scale: tensor<f32>) -> tensor<3xf32> {
#'     %s = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<3xf32>
#'     %y = stablehlo.multiply %x, %s : tensor<3xf32>
#'     return %y : tensor<3xf32>
#'   }
#' ")
#' skeleton
#' run(skeleton, c(1, 2, 3), 10)
#' run(skeleton, scale = 2, x = pjrt_buffer(c(1, 2, 3)))
#' try(run(skeleton, c(1, 2), 10))
#' memory_report(skeleton)
#'
#' # The slots may be told: then the program has to take just these.
#' program <- pjrt_program("func.func @main(%arg0: tensor<2xi32>) -> tensor<2xi32> { return %arg0 : tensor<2xi32> }")
#' run(pjrt_skeleton(program, c(n = "i32[2]")), n = 1:2)
pjrt_skeleton <- function(program, slots = NULL, device = NULL) {
  if (is.character(program)) {
    program <- pjrt_program(program)
  }
  slots <- read_slots(slots)
  rs_skeleton(program, slots$names, slots$dtypes, slots$shapes, device)
}

# The slots as Rust reads them.
read_slots <- function(slots) {
  if (is.null(slots)) {
    return(NULL)
  }
  is_list <- is.list(slots) && !is.object(slots)
  if (!is_list && !(is.character(slots) && !is.object(slots))) {
    refuse(slots, "a list of layouts, such as list(x = \"f32[2,3]\"), or NULL")
  }
  names <- names(slots) %||% character(length(slots))
  names[is.na(names)] <- ""
  doubled <- names[nzchar(names) & duplicated(names)]
  if (length(doubled) > 0L) {
    raise_("value", sprintf("argument `slots`: expected names that differ, got two slots `%s`", doubled[[1L]]), "slots")
  }
  paths <- ifelse(nzchar(names), paste0("slots$", names), sprintf("slots[[%d]]", seq_along(names)))
  # Not by lapply(), whose frame would be taken for the user's.
  layouts <- vector("list", length(names))
  for (i in seq_along(names)) {
    layouts[[i]] <- read_layout(slots[[i]], paths[[i]])
  }
  list(names = names, dtypes = lapply(layouts, `[[`, "dtype"), shapes = lapply(layouts, `[[`, "shape"))
}

# A layout as a list of dtype and shape.
read_layout <- function(x, path) {
  if (inherits(x, c("PJRTBuffer", "AnvlArray"))) {
    return(list(dtype = as.character(dtype(x)), shape = shape(x)))
  }
  if (is.list(x) && !is.object(x) && setequal(names(x), c("dtype", "shape"))) {
    return(x)
  }
  expected <- "a layout such as \"f32[2,3]\", list(dtype = \"f32\", shape = c(2, 3)), or an array"
  if (!is.character(x) || length(x) != 1L || is.na(x)) {
    refuse(x, expected, path)
  }
  parts <- regmatches(x, regexec("^\\s*([a-z0-9]+)\\s*\\[([0-9, ]*)\\]\\s*$", x))[[1L]]
  sizes <- if (length(parts) > 0L) strsplit(paste0(parts[[3L]], " "), ",", fixed = TRUE)[[1L]]
  sizes <- if (identical(trimws(sizes), "")) numeric() else suppressWarnings(as.numeric(sizes))
  if (length(parts) == 0L || anyNA(sizes)) {
    raise_("value", sprintf("argument `%s`: expected %s, got \"%s\"", path, expected, x), path)
  }
  list(dtype = parts[[2L]], shape = sizes)
}

#' @rdname pjrt_skeleton
#' @export
run <- function(.skeleton, ...) UseMethod("run")

#' @export
run.default <- function(.skeleton, ...) refuse(.skeleton, "a PJRTSkeleton, or another object with a method", ".skeleton")

#' @export
run.PJRTSkeleton <- function(.skeleton, ...) .Call(savvy_rs_skeleton_run__impl, .skeleton, list(...))

#' @rdname pjrt_skeleton
#' @export
memory_report <- function(skeleton) structure(rs_skeleton_memory(skeleton), class = "PJRTMemoryReport")

#' @export
device.PJRTSkeleton <- function(x, ...) rs_skeleton_device(x)

#' @export
platform.PJRTSkeleton <- function(x, ...) rs_device_platform(rs_skeleton_device(x))

#' @export
format.PJRTSkeleton <- function(x, ...) {
  about <- rs_skeleton_about(x)
  inputs <- paste0(about$names, ifelse(nzchar(about$names), ": ", ""), about$inputs, ifelse(about$donated, " donated", ""))
  list_of <- function(x) sprintf("(%s)", paste(x, collapse = ", "))
  sprintf("<PJRTSkeleton %s -> %s on %s>", list_of(inputs), list_of(about$outputs), about$device)
}

#' @rdname pjrt_skeleton
#' @export
print.PJRTSkeleton <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  report <- memory_report(x)
  cat("at most ", text_of_bytes(report$peak_bytes), " for a run, ", counted(report$allocations, "allocation"), "\n", sep = "")
  origin <- rs_skeleton_about(x)$origin
  if (nzchar(origin)) {
    cat(origin, "\n", sep = "")
  }
  invisible(x)
}

#' @export
format.PJRTMemoryReport <- function(x, ...) {
  bytes <- format(vapply(x[c("peak_bytes", "argument_bytes", "output_bytes")], text_of_bytes, ""), justify = "right")
  c(
    "<PJRTMemoryReport>",
    paste0("  ", c("at most  ", "arguments", "results  "), "  ", bytes),
    paste0("  ", counted(x$allocations, "allocation"))
  )
}

#' @export
print.PJRTMemoryReport <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# `12 bytes`, `1.5 MiB (1572864 bytes)`
text_of_bytes <- function(n) {
  exact <- counted(n, "byte")
  if (n < 2^20) {
    return(exact)
  }
  unit <- min(floor(log2(n) / 10), 4)
  sprintf("%.4g %s (%s)", n / 2^(10 * unit), c("MiB", "GiB", "TiB")[[unit - 1]], exact)
}

#' Skeletons in files
#'
#' `save_skeleton()` saves a [skeleton][pjrt_skeleton()] to a file, and `load_skeleton()` makes one of a file, in this session or
#' another one, on this machine or another one. (`saveRDS()` cannot: the content of a skeleton is not R's.)
#'
#' A file has the program, the names and layouts of its slots, and the compiled program where the plugin gives it away. What is
#' compiled is used where the build of the plugin, the features of the processor and the settings are the same, and the
#' file is yours and was not damaged; otherwise the program is compiled anew, and `print()` says why. See [pjrt_cache()] for
#' what has to be the same.
#'
#' The file appears whole or not at all, in place of one that is there. It is machine code: who can write to it decides what
#' runs where it is loaded. So what others can write to is compiled anew.
#'
#' @inheritParams pjrt_skeleton
#' @param path The path of a file.
#' @return `save_skeleton()` gives the skeleton, invisibly; `load_skeleton()` a `PJRTSkeleton`.
#'
#' @section Errors:
#' A file that cannot be written or read, that is no skeleton, or whose program was damaged: the code is `"file"`.
#' @seealso [pjrt_cache()], which keeps whatever is compiled.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' skeleton <- pjrt_skeleton("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
#'   %y = stablehlo.cosine %x : tensor<3xf32>
#'   return %y : tensor<3xf32>
#' }")
#' file <- tempfile(fileext = ".skeleton")
#' save_skeleton(skeleton, file)
#' loaded <- load_skeleton(file)
#' loaded
#' run(loaded, x = c(0, 1, 2))
save_skeleton <- function(skeleton, path) {
  rs_skeleton_save(skeleton, expanded(path))
  invisible(skeleton)
}

#' @rdname save_skeleton
#' @export
load_skeleton <- function(path, device = NULL) rs_skeleton_load(expanded(path), device)

# A path with the home of the user for `~`; what is no path is refused by Rust.
expanded <- function(path) if (is.character(path) && all(Encoding(path) != "bytes")) path.expand(path) else path
