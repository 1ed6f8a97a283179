#' Programs
#'
#' A program is StableHLO, as text or bytecode, or HLO as a serialized `HloModuleProto`. `pjrt_compile()` compiles it
#' for a device, `pjrt_execute()` runs it on buffers. [dispatcher()] does both, and keeps what was compiled.
#'
#' A run may go on after `pjrt_execute()` returns, see [await()].
#'
#' @section Time:
#' The user can interrupt a compile: the compiler then ends its work in the background, and what it makes is dropped. In an
#' interactive session a compile that takes longer than a second is shown. `options(pjrtdispatch.verbose = TRUE)` logs
#' every compile with its time. `options(pjrtdispatch.cache = dir)` keeps what is compiled for the sessions to come, see
#' [pjrt_cache()].
#'
#' Waiting for a result can be interrupted too; the computation goes on. A program whose operations are cheap runs before
#' `pjrt_execute()` returns, by the plugin's choice, even if it repeats them in a long loop. That cannot be interrupted.
#'
#' @section Donated inputs:
#' A program may take over the memory of an input for a result, if it says so by the attribute `tf.aliasing_output` or
#' `jax.buffer_donor` of the argument. The buffer is gone afterwards: using it is an error, and so is passing it twice.
#' Inputs that `non_donatable_input_indices` lists are copied instead.
#'
#' @param src The program: a string, several of which are lines, or a raw vector.
#' @param path A file with the program.
#' @param format The format, `"mlir"` for StableHLO.
#' @param program A program; `inspect_hlo()` also takes what `pjrt_compile()` gives.
#' @param compile_options What `new_compile_options()` gives.
#' @param proto A raw vector, a serialized `xla.CompileOptionsProto`. Options that ask for several devices are refused.
#' @param device The [device][pjrt_device] to compile for, or the name of one; `NULL` is the default.
#' @param executable What `pjrt_compile()` gives.
#' @param ... The inputs in the order of the program's arguments: buffers, or objects for which a
#'   [converter][register_converter] is registered, which is told the dtype and the sizes that the program takes.
#' @param execution_options What `pjrt_execution_options()` gives.
#' @param simplify Whether a program with one result gives that buffer, instead of a list.
#' @param check Whether the inputs have to have the dtypes and shapes that the program takes. With `check = FALSE` an
#'   input may have others if it has as many bytes, which are then taken for what the program expects. That inputs are
#'   alive, on the right device and of the right size is always checked.
#' @param non_donatable_input_indices Indices of inputs that are not to be donated, counted from 0.
#' @param launch_id A number that tells launches apart.
#' @return `pjrt_program()` a `PJRTProgram`; `pjrt_compile()` a `PJRTLoadedExecutable`; `pjrt_execute()` a buffer or a
#'   list of buffers; `inspect_hlo()` the program that the compiler made, as HLO text.
#'
#' @section Errors:
#' A program that XLA does not compile: the code is `"pjrt"`, and the message is XLA's, with lines and columns. An input of
#' another dtype, shape or device than the program's, or of too many or too few, named by its position. An input that
#' was donated or released. What goes wrong while the program runs appears where its result is waited for.
#' @seealso [dispatcher()], which compiles on demand.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' program <- pjrt_program("
#'   func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
#'     %sum = stablehlo.add %a, %b : tensor<3xf32>
#'     return %sum : tensor<3xf32>
#'   }
#' ")
#' add <- pjrt_compile(program)
#' pjrt_execute(add, pjrt_buffer(c(1, 2, 3)), pjrt_buffer(c(10, 20, 30)))
#' cat(inspect_hlo(program))
pjrt_program <- function(src = NULL, path = NULL, format = c("mlir", "hlo")) {
  if (missing(format)) {
    format <- "mlir"
  } else {
    expect_choice(format, c("mlir", "hlo"), "\"mlir\" or \"hlo\"")
  }
  .Call(savvy_rs_program__impl, src, expanded(path), format)
}

#' @rdname pjrt_program
#' @export
pjrt_compile <- function(program, compile_options = new_compile_options(), device = NULL) {
  if (!inherits(compile_options, "PJRTCompileOptions")) {
    refuse(compile_options, "what new_compile_options() gives")
  }
  rs_compile(program, compile_options$proto, device)
}

#' @rdname pjrt_program
#' @export
new_compile_options <- function(proto = raw()) {
  if (!is.raw(proto)) {
    refuse(proto, "a raw vector")
  }
  structure(list(proto = proto), class = "PJRTCompileOptions")
}

#' @rdname pjrt_program
#' @export
pjrt_execute <- function(executable, ..., execution_options = NULL, simplify = TRUE, check = TRUE) {
  if (is.null(execution_options)) {
    return(.Call(savvy_rs_execute__impl, executable, list(...), NULL, NULL, simplify, check))
  }
  if (!inherits(execution_options, "PJRTExecutionOptions")) {
    refuse(execution_options, "what pjrt_execution_options() gives")
  }
  rs_execute(
    executable, list(...), execution_options$non_donatable_input_indices, execution_options$launch_id, simplify, check
  )
}

#' @rdname pjrt_program
#' @export
pjrt_execution_options <- function(non_donatable_input_indices = integer(), launch_id = 0L) {
  rs_execution_options(non_donatable_input_indices, launch_id)
  structure(
    list(non_donatable_input_indices = non_donatable_input_indices, launch_id = launch_id),
    class = "PJRTExecutionOptions"
  )
}

#' @rdname pjrt_program
#' @export
inspect_hlo <- function(program, device = NULL) {
  if (!inherits(program, "PJRTLoadedExecutable")) {
    program <- rs_compile(program, raw(), device)
  }
  .Call(savvy_rs_executable_hlo__impl, program)
}

#' @export
device.PJRTLoadedExecutable <- function(x, ...) rs_executable_device(x)

#' @export
platform.PJRTLoadedExecutable <- function(x, ...) rs_device_platform(rs_executable_device(x))

#' @export
as.character.PJRTProgram <- function(x, ...) rs_program_text(x)

#' @export
format.PJRTProgram <- function(x, ...) {
  lines <- strsplit(rs_program_text(x), "\n", fixed = TRUE)[[1L]]
  paste(c("<PJRTProgram>", lines), collapse = "\n")
}

#' @export
print.PJRTProgram <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @export
format.PJRTLoadedExecutable <- function(x, ...) sprintf("<PJRTLoadedExecutable %s>", rs_executable_about(x))

#' @export
print.PJRTLoadedExecutable <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
