#' Waiting
#'
#' Programs run while R goes on: a buffer may still be computing when R has it. `await()` waits for it, `is_ready()`
#' tells whether there is anything to wait for. `as_array_async()` gives a promise of the array, which `value()`
#' waits for. Waiting can be interrupted.
#'
#' An error of the computation appears where it is waited for.
#'
#' @param x A buffer, an [AnvlArray] or a promise.
#' @param ... For methods.
#' @return `await()` gives `x`, invisibly; `is_ready()` `TRUE` or `FALSE`; `as_array_async()` a `PJRTArrayPromise`;
#'   `value()` an array.
#' @seealso [as_array()], which waits and copies at once.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' x <- pjrt_buffer(1:3)
#' is_ready(await(x))
#' promise <- as_array_async(x)
#' # ... something else ...
#' value(promise)
await <- function(x, ...) UseMethod("await")

#' @export
await.PJRTBuffer <- function(x, ...) invisible(rs_buffer_await(x))

#' @export
await.default <- function(x, ...) refuse(x, "a PJRTBuffer or a PJRTArrayPromise")

#' @export
await.PJRTArrayPromise <- function(x, ...) invisible(rs_promise_await(x))

#' @rdname await
#' @export
is_ready <- function(x, ...) UseMethod("is_ready")

#' @export
is_ready.PJRTBuffer <- function(x, ...) rs_buffer_is_ready(x)

#' @export
is_ready.default <- function(x, ...) refuse(x, "a PJRTBuffer or a PJRTArrayPromise")

#' @export
is_ready.PJRTArrayPromise <- function(x, ...) rs_promise_is_ready(x)

#' @rdname await
#' @export
as_array_async <- function(x, ...) UseMethod("as_array_async")

#' @export
as_array_async.PJRTBuffer <- function(x, ...) rs_promise(x)

#' @export
as_array_async.default <- function(x, ...) refuse(x, "a PJRTBuffer")

#' @rdname await
#' @export
value <- function(x, ...) UseMethod("value")

#' @export
value.PJRTArrayPromise <- function(x, ...) rs_promise_value(x)

#' @export
value.default <- function(x, ...) refuse(x, "a PJRTArrayPromise")

#' @export
as_array.PJRTArrayPromise <- function(x, check = FALSE, ...) rs_promise_value(x)

#' @export
format.PJRTArrayPromise <- function(x, ...) sprintf("<PJRTArrayPromise %s>", rs_promise_about(x))

#' @export
print.PJRTArrayPromise <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
