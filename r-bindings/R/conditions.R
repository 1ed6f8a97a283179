# Raises an error of the Rust side with the call of the user. Rust calls this where it has to end a call from R.
raise_ <- function(code, message, argument) {
  call <- user_call()
  stop(structure(
    class = c("pjrtdispatch_error", "error", "condition"),
    list(message = message, call = call, code = code, argument = argument)
  ))
}

# The call by which the user came into this package: of the frames that are of this package without a gap, looked at
# from the one that calls this, the outermost.
user_call <- function() {
  ours <- topenv()
  frame <- sys.nframe() - 2L
  found <- NULL
  while (frame > 0L) {
    fun <- sys.function(frame)
    env <- environment(fun)
    # Generics may be of another package: they are a step between, not the end.
    if (is.null(env) || !identical(topenv(env), ours)) {
      break
    }
    found <- sys.call(frame)
    frame <- frame - 1L
  }
  found
}
