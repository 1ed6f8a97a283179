#' Functions that programs call
#'
#' A program may call functions that are not part of it: the targets of its `stablehlo.custom_call`s (with
#' `api_version = 4`). `pjrt_register_custom_call()` registers a compiled function under the name of a target,
#' `register_r_handler()` an R function, to try something out. Packages whose Rust code has functions with the
#' attribute `#[ffi_handler]` need neither: those are registered when the package is loaded.
#'
#' A target has to be registered before a program that names it is compiled. It need not be registered after the plugin
#' is loaded: whatever is registered before is given to the plugin with its first client, and nothing is started for it.
#'
#' @section Names:
#' There is one list of targets in the process. The same function may be registered again. Another one under a name that
#' is taken is an error that names both owners, except that a package, and `register_r_handler()`, replace their own.
#' Programs that were compiled before call the new one then.
#'
#' When a package is unloaded, its targets go: a program that calls one fails from then on, with an error that says so.
#' For compiled functions of `pjrt_register_custom_call()` that is so if their package is known, see `.package`; the
#' library of a function without a package has to stay loaded.
#'
#' @section R functions:
#' `f` gets the operands as R arrays (see [as_array()]; a vector has one dimension, a scalar none), in order. The
#' attributes of the call are a named list in the argument `attributes`, if `f` has one of that name; a call with
#' attributes needs one. What it returns is the array of the result, or a list with an array for each result: a vector or
#' array of R whose dimensions are those of the result (a plain vector is one of one dimension, and one element is a
#' scalar), and whose values the dtype of the result holds. Logical values become `bool`, integers and `integer64` numbers,
#' doubles any dtype that has them, complex numbers complex ones; types of fractions round, and have `NaN` for `NA`. What a
#' call without results returns is not looked at.
#'
#' XLA leaves out a call that nobody needs the results of, and makes one of two that are equal, unless the operation has
#' `has_side_effect = true`: a function that is called for what it does, without results above all, needs that.
#'
#' An error in `f` ends the program, and its message is part of that error. Other ways out of `f` end it too and then go on,
#' as if `f` had been called by `pjrt_execute()` itself: an interrupt of the user, the invocation of a restart, a warning or
#' message that is handled by a `tryCatch()` around the execution.
#'
#' R computes in `f` as it does elsewhere, with subnormal numbers, which XLA's own operations flush to zero.
#'
#' R functions run on R's own thread only. XLA calls the functions of a small program on the thread that starts it; if the
#' other operations of the program work on arrays of more than about 1000 elements, it may do so on threads of its own: then
#' the call is an error that says so. On a GPU there are no R functions.
#'
#' @section Compiled functions:
#' The pointer is one to an `XLA_FFI_Handler` of XLA's `xla/ffi/api/c_api.h`, as C++ code makes it with
#' `XLA_FFI_DEFINE_HANDLER`: it is called for executions, may be called by any thread, and answers XLA's handshake. Nothing
#' can check that: with another pointer R crashes. Functions for the platform `"cuda"` get addresses of the GPU's memory.
#'
#' @param target_name,name The name of the target. Those that XLA's compiler knows itself, such as `"TopK"`, are an error.
#' @param handler A named list of external pointers, by platform: `"host"` (the CPU) or `"cuda"`.
#' @param .package The name of the package that the functions belong to; `NULL` is the one whose code calls
#'   `pjrt_register_custom_call()`, if any.
#' @param f A function of the operands.
#' @return `NULL`, invisibly.
#' @section Errors:
#' A program that names a target which is not registered fails to compile; the error names it, and those that are
#' registered.
#' @seealso [pjrt_program()]
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' register_r_handler("sort_rows", function(x, attributes) {
#'   t(apply(x, 1, sort, decreasing = attributes$decreasing))
#' })
#' program <- pjrt_program('
#'   func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
#'     %sorted = stablehlo.custom_call @sort_rows(%x) {
#'       api_version = 4 : i32,
#'       backend_config = {decreasing = false}
#'     } : (tensor<2x3xf32>) -> tensor<2x3xf32>
#'     return %sorted : tensor<2x3xf32>
#'   }
#' ')
#' pjrt_execute(pjrt_compile(program), pjrt_buffer(matrix(c(3, 1, 2, 6, 5, 4), 2, byrow = TRUE)))
pjrt_register_custom_call <- function(target_name, handler, .package = NULL) {
  .package <- .package %||% package_of(parent.frame())
  rs_register_custom_call(target_name, handler, .package)
  forget_with(.package)
  invisible(NULL)
}

#' @rdname pjrt_register_custom_call
#' @export
register_r_handler <- function(name, f) {
  if (!is.function(f)) {
    refuse(f, "a function")
  }
  rs_register_r_handler(name, answering(f))
  invisible(NULL)
}

# The package whose namespace an environment is in, if it is in one.
package_of <- function(env) {
  env <- topenv(env)
  if (isNamespace(env)) getNamespaceName(env)[[1L]]
}

# Has the targets and the converters of a package go when it is unloaded, before its library does.
forget_with <- function(package) {
  if (is.null(package) || package %in% watched_packages$names || !isNamespaceLoaded(package)) {
    return()
  }
  watched_packages$names <- c(watched_packages$names, package)
  setHook(packageEvent(package, "onUnload"), function(...) {
    rs_remove_handlers(package)
    rs_remove_converters(package)
  })
}

watched_packages <- new.env(parent = emptyenv())

# What is called from Rust. It answers with a list: TRUE and the value of the function, or FALSE and the text of an error.
answering <- function(f) {
  force(f)
  # Of some primitives nobody knows.
  arguments <- names(formals(if (is.primitive(f)) args(f) else f))
  takes_attributes <- !is.primitive(f) && "attributes" %in% arguments
  most <- length(setdiff(arguments, if (takes_attributes) "attributes"))
  if ("..." %in% arguments || (is.primitive(f) && is.null(arguments))) {
    most <- Inf
  }
  function(operands, attributes) {
    tryCatch(
      {
        if (length(attributes) > 0L && !takes_attributes) {
          stop("the call has attributes (", toString(names(attributes)), "), and the function no argument `attributes`")
        }
        if (length(operands) > most) {
          stop("the call has ", counted(length(operands), "operand"), ", and the function takes ", if (most) most else "none")
        }
        list(TRUE, call_by_names(f, operands, if (takes_attributes) attributes))
      },
      error = function(condition) list(FALSE, text_of(condition))
    )
  }
}

# Calls a function so that its call, which may become part of messages, has names and no data. The environment of the call
# has nothing else that R code would find.
call_by_names <- function(f, operands, attributes) {
  names(operands) <- sprintf("operand%d", seq_along(operands))
  values <- c(list(f = f), operands, if (!is.null(attributes)) list(attributes = attributes))
  env <- list2env(values, parent = globalenv())
  call <- as.call(lapply(c("f", names(operands)), as.name))
  if (!is.null(attributes)) {
    call$attributes <- quote(attributes)
  }
  eval(call, env)
}

# The message of a condition, whatever has become of it.
text_of <- function(condition) {
  message <- tryCatch(conditionMessage(condition), error = function(e) NULL)
  text <- if (is.character(message)) paste(message[!is.na(message)], collapse = "\n") else ""
  # Bytes that are no text in their encoding are shown as such.
  text <- tryCatch(
    iconv(if (Encoding(text) == "bytes") text else enc2utf8(text), "UTF-8", "UTF-8", sub = "byte"),
    error = function(e) ""
  )
  if (nzchar(text)) text else paste0("an error without a message (of class ", toString(class(condition)), ")")
}
