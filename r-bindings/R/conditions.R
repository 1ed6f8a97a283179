# Raises an error of the Rust side with the call of the user. Rust calls this where it has to end a call from R.
raise_ <- function(code, message, argument) {
  call <- user_call()
  stop(structure(
    class = c("pjrtdispatch_error", "error", "condition"),
    list(message = message, call = call, code = code, argument = argument)
  ))
}

# The call by which the user came into this package: from the frame that raises, up from caller to caller as long as
# they are of this package; or of the package whose C code has called ours, and then of either.
user_call <- function(frame = sys.nframe() - 2L) {
  package <- NULL
  parents <- sys.parents()
  found <- NULL
  while (frame > 0L) {
    env <- environment(sys.function(frame))
    if (is.null(package) && !is.null(env)) {
      package <- topenv(env)
    }
    within <- !is.null(env) && (identical(topenv(env), package) || identical(topenv(env), topenv()))
    if (!within || !isNamespace(package)) {
      break
    }
    found <- sys.call(frame)
    # A method's frame comes right after that of its generic, and has the same caller.
    before <- frame - 1L
    if (before > 0L && parents[[before]] == parents[[frame]] && is_method_of(found, sys.call(before))) {
      found <- sys.call(before)
    }
    # The frame that C makes to print what is in a list counts itself as its caller.
    if (parents[[frame]] >= frame) {
      break
    }
    frame <- parents[[frame]]
  }
  as_called(found)
}

# A method of a primitive such as `==` has no frame of its generic before its own.
as_called <- function(call) {
  name <- if (is.call(call) && is.name(call[[1L]])) as.character(call[[1L]]) else ""
  generic <- sub("\\.(PJRT[A-Za-z]+|AnvlArray|Dispatcher|RTree)$", "", name)
  if (generic != name) {
    call[[1L]] <- as.name(generic)
  }
  call
}

is_method_of <- function(call, generic) {
  is.name(call[[1L]]) && is.name(generic[[1L]]) && startsWith(as.character(call[[1L]]), paste0(generic[[1L]], "."))
}
