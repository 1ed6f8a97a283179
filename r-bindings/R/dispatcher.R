#' Dispatchers
#'
#' A dispatcher owns the compiled programs of one program family. It finds the program of a call by the structure of the
#' inputs and their abstract values, and runs it; only where there is none yet it calls back into R, to compile.
#'
#' `dispatcher()` makes a dispatcher, and `dispatch()` runs a call through it.
#'
#' @section Keys:
#' A call's key has the structure of the arguments; for each dynamic leaf its kind (an array of the backend, or bare R
#' data), dtype and shape; the values of the static arguments; the device, unless `move_inputs = TRUE`; and what
#' `context` gives.
#'
#' Static values are compared as `identical(num.eq = FALSE)` does: numbers bit by bit, with all `NA` of one type alike and
#' all `NaN` alike; a `bit64::integer64` by its 64 bits, also inside lists and attributes; strings by content in
#' whatever encoding; attributes as a set; closures by formals, body and environment, without byte code and source
#' references; environments and pointers by identity.
#'
#' @section Inputs:
#' They are checked before the programs are looked through, and an error names the argument by its path, such as
#' `b$w[[2]]`. An input is an `AnvlArray` of the dispatcher's backend, or bare R data without a class: a logical,
#' integer or double of length 1 or an array of such. Unclassed lists and `NULL` are structure. So `compile` need not
#' check: it is called only for inputs that can be executed.
#'
#' The values of bare R data are checked on every call: one that the dtype which `compile` gave it in `input_dtypes` does
#' not hold (a fraction in an integer type, a number out of range, `NA` other than in a float type) is an error.
#'
#' With `move_inputs = TRUE` an array on another device is copied. The original stays as it is, and can be used again even
#' if the program donates that input.
#'
#' Of an `AnvlArray` only `$data` and `$backend` are used: with `backend = "pjrt"` dtype, shape and device are those of
#' the buffer, otherwise `extractor` tells them.
#'
#' @section The callback:
#' `compile(info)` gets a list of
#' * `args`: the arguments as they were dispatched,
#' * `in_tree`: their `RTree` (see [build_tree()]),
#' * `leaves`: their leaves (see [flatten()]),
#' * `is_static`: for each leaf whether it is static,
#' * `avals`: for each leaf `NULL` if it is static, else `list(kind, dtype, shape)`. `kind` is `"array"` or, for bare R
#'   data, `"rdata"`; `dtype` is a dtype or, for bare R data, its `typeof()`; `shape` is an integer vector, empty for
#'   a scalar,
#' * `default_device`: what the dispatcher's `default_device` gave, if it was asked,
#' * `context`: what the dispatcher's `context` gave, if it has one.
#'
#' For `backend = "pjrt"` it gives a list of
#' * `exec`: a compiled program ([pjrt_compile()]), which takes the constants, then the inputs, then the phantoms,
#' * `client`, `device`: what the program is compiled for,
#' * `out_tree`: the `RTree` of the results,
#' * `out_avals`: for each result `list(dtype, shape)`,
#' * `const_arrays`, optional: buffers that come before the inputs,
#' * `phantom_specs`, optional: a list of `list(dtype, shape)`, buffers made for each call that come after the inputs, for
#'   results to be written to; what is in them is not told,
#' * `input_dtypes`, for calls with bare R data: for each dynamic leaf the dtype that it is uploaded at, `NA` for an array.
#'   A double may become any dtype, an integer any but `"bool"`, a logical only `"bool"`.
#'
#' The device of the call is `default_device`, or if that is `NULL` the one of the first array:
#' `device(info$leaves[[1]]$data)` where the first leaf is one. In StableHLO the dtypes have the same names, but for `bool`,
#' which is `i1`, and `c64` and `c128`, which are `complex<f32>` and `complex<f64>`.
#'
#' For any other backend it gives a list with `r_fun`, a function of the list of the dynamic leaves (of an array its
#' `$data`), whose value is that of the call.
#'
#' What it gives is checked; an error names the field. If it raises an error the call ends with that, and nothing is
#' kept. It may dispatch other calls, but not the one that it compiles.
#'
#' An input that the program consumes (donates) is gone after the call; using its buffer again is an error. To pass such a
#' buffer twice in one call is one, too.
#'
#' @section Backends:
#' With `backend = "pjrt"` a compiled program is executed: bare R data is uploaded, and the results become `AnvlArray`s,
#' lists of `$data`, `$dtype`, `$shape`, `$device` and `$backend`. Any other backend runs the function that `compile`
#' gave, and places inputs and wraps results itself.
#'
#' @param capacity The greatest number of programs to keep. The one that was not used for longest goes first.
#' @param compile The function that compiles, see below.
#' @param static The names of top-level arguments that are static: part of the key, and no input of the program.
#' @param backend The `$backend` of every `AnvlArray`, which selects how programs run, see below.
#' @param move_inputs Whether inputs are moved to the device of the program. Otherwise the device of the first array is
#'   that of the call, an array elsewhere is an error, and the device is part of the key.
#' @param default_device A function without arguments that gives the device of calls without an array; not needed if
#'   `move_inputs = TRUE`.
#' @param extractor A function of an array that gives `list(aval = list(dtype, shape), device, backend)`, for backends
#'   other than `"pjrt"`.
#' @param context A function without arguments, called for each dispatch, that gives a character vector without `NA` which
#'   programs depend on. Its names count too.
#' @param dispatcher A dispatcher.
#' @param args A list of arguments.
#' @return `dispatcher()` a `Dispatcher`, `dispatch()` the value of the call, `dispatcher_size()` how many programs there
#'   are.
#'
#' @section Errors:
#' An error names the argument by its path, what was expected and what came; its code is `"type"` for what is neither an
#' array nor R data, `"device"` or `"client"` for an array elsewhere, `"donated"` for one that is gone, `"recursive"` for a
#' callback that dispatches its own call. What `compile` raises arrives as it is.
#' @seealso [dispatch_explain()] for why a call compiles, [dispatcher_stats()] for what a dispatcher has done.
#' @export
#' @examples
#' # With any backend: the value of a call is what `r_fun` gives.
#' d <- dispatcher(
#'   capacity = 8,
#'   compile = function(info) {
#'     cat("compiling for", info$avals[[1]]$dtype, "\n")
#'     list(r_fun = function(leaves) leaves[[1]] * info$args$times)
#'   },
#'   static = "times", backend = "plain", move_inputs = TRUE, extractor = function(x) NULL
#' )
#' dispatch(d, list(x = 2, times = 3))
#' dispatch(d, list(x = 5, times = 3))
#' dispatcher_size(d)
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#'
#' # With PJRT: the sum of two arrays of one dtype and shape.
#' add <- dispatcher(
#'   capacity = 64,
#'   compile = function(info) {
#'     x <- info$avals[[1]]
#'     # The type in StableHLO, which calls bool i1: tensor<2x3xf32>, tensor<i1> of a scalar.
#'     type <- sprintf("tensor<%s>", paste(c(x$shape, sub("bool", "i1", x$dtype)), collapse = "x"))
#'     device <- device(info$leaves[[1]]$data) # that of the call
#'     program <- pjrt_program(sprintf(
#'       "func.func @main(%%x: %1$s, %%y: %1$s) -> %1$s {
#'          %%sum = stablehlo.add %%x, %%y : %1$s
#'          return %%sum : %1$s
#'        }", type
#'     ))
#'     list(
#'       exec = pjrt_compile(program, device = device), client = as_pjrt_client(device), device = device,
#'       out_tree = build_tree(0), out_avals = list(x[c("dtype", "shape")])
#'     )
#'   },
#'   default_device = function() pjrt_device("cpu:0")
#' )
#' array_of <- function(x) {
#'   structure(list(data = pjrt_buffer(x), backend = "pjrt"), class = "AnvlArray")
#' }
#' dispatch(add, list(array_of(c(1, 2, 3)), array_of(c(10, 20, 30)))) # compiles
#' dispatch(add, list(array_of(c(4, 5, 6)), array_of(c(10, 20, 30)))) # runs
#' add
dispatcher <- function(capacity, compile, static = character(), backend = "pjrt", move_inputs = FALSE,
                       default_device = NULL, extractor = NULL, context = NULL) {
  .Call(savvy_rs_dispatcher__impl, capacity, compile, static, backend, move_inputs, default_device, extractor, context)
}

# The native function behind `dispatch()`, set when the package is loaded: `.Call()` takes it without a search.
# (In the body of `dispatch()` it would be found faster, but R leaves a body that is made then without byte code.)
dispatch_symbol <- NULL

#' @rdname dispatcher
#' @export
dispatch <- function(dispatcher, args) .Call(dispatch_symbol, dispatcher, args)

#' @rdname dispatcher
#' @export
dispatcher_size <- function(dispatcher) rs_dispatcher_stats(dispatcher)$entries

#' What a dispatcher has done
#'
#' `dispatcher_stats()` counts its calls, and `dispatcher_clear()` makes it forget its programs.
#'
#' @inheritParams dispatcher
#' @return `dispatcher_stats()` a list: `hits` and `misses` of calls, `compiles` (misses that gave a program), `loads` (those
#'   of them whose program came from the [cache][pjrt_cache()] of earlier sessions), `evictions` to make room for others,
#'   `entries` now, and the `bytes` that they take as far as the plugin says.
#'   `dispatcher_clear()` forgets all programs and gives the dispatcher, invisibly.
#' @seealso [dispatch_explain()] for the reasons.
#' @export
#' @examples
#' d <- dispatcher(
#'   8, function(info) list(r_fun = function(leaves) -leaves[[1]]),
#'   backend = "plain", move_inputs = TRUE, extractor = identity
#' )
#' dispatch(d, list(1))
#' dispatch(d, list(2))
#' str(dispatcher_stats(d))
#' dispatcher_size(dispatcher_clear(d))
dispatcher_stats <- function(dispatcher) rs_dispatcher_stats(dispatcher)

#' @rdname dispatcher_stats
#' @export
dispatcher_clear <- function(dispatcher) invisible(rs_dispatcher_clear(dispatcher))

#' Why does this compile again?
#'
#' `dispatch_explain()` tells whether a call has its program already, and if not, what is new about it: which leaf, by its
#' path, differs from the nearest program's, and how. Nothing is compiled or executed.
#'
#' `expect_no_compile()` is an error if its expression makes any dispatcher or [family][dispatch_family] compile, and tells
#' why it did.
#' `options(pjrtdispatch.verbose = TRUE)` logs each compile with its reason and its time.
#'
#' @inheritParams dispatcher
#' @param expr An expression.
#' @return `dispatch_explain()` a `DispatchExplanation`, a list of `hit`, a `message`, and `differences`, a data frame of
#'   the `part` of the key, its value `now` and that of the nearest program, `cached`. `expect_no_compile()` the value
#'   of the expression, invisibly.
#' @seealso [dispatcher_stats()] for numbers, and [family_explain()] for families.
#' @export
#' @examples
#' d <- dispatcher(
#'   8, function(info) list(r_fun = function(leaves) leaves[[1]] * info$args$times),
#'   static = "times", backend = "plain", move_inputs = TRUE, extractor = identity
#' )
#' dispatch(d, list(x = 2, times = 3))
#' dispatch_explain(d, list(x = 5, times = 3))
#' why <- dispatch_explain(d, list(x = 5L, times = 4))
#' why
#' why$differences
#' expect_no_compile(dispatch(d, list(x = 5, times = 3)))
#' try(expect_no_compile(dispatch(d, list(x = 5, times = 4))))
dispatch_explain <- function(dispatcher, args) as_explanation(rs_dispatch_explain(dispatcher, args))

# What Rust tells of a call.
as_explanation <- function(told) {
  structure(
    list(
      hit = told$hit,
      message = told$message,
      differences = data.frame(part = told$part, now = told$now, cached = told$cached)
    ),
    class = "DispatchExplanation"
  )
}

#' @rdname dispatch_explain
#' @export
expect_no_compile <- function(expr) {
  rs_compiles_watch()
  noted <- NULL
  on.exit(if (is.null(noted)) rs_compiles_noted())
  value <- force(expr)
  noted <- rs_compiles_noted()
  if (length(noted) > 0L) {
    times <- if (length(noted) == 1L) "a program was" else paste(length(noted), "programs were")
    raise_("compiled", paste0(times, " compiled:\n", paste("*", noted, collapse = "\n")), NULL)
  }
  invisible(value)
}

#' @export
format.DispatchExplanation <- function(x, ...) x$message

#' @export
print.DispatchExplanation <- function(x, ...) {
  cat(x$message, "\n", sep = "")
  invisible(x)
}

#' @export
format.Dispatcher <- function(x, ...) {
  about <- rs_dispatcher_about(x)
  stats <- rs_dispatcher_stats(x)
  sprintf(
    "<Dispatcher %s: %d of %s, %s, %s>",
    about[1], stats$entries, counted(as.numeric(about[2]), "program"), counted(stats$hits, "hit"),
    counted(stats$misses, "miss", "misses")
  )
}

# `1 hit`, `2 hits`
counted <- function(n, noun, nouns = paste0(noun, "s")) sprintf("%.0f %s", n, if (n == 1) noun else nouns)

#' @export
print.Dispatcher <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
