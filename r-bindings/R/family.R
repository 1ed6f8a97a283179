#' Functions of program families
#'
#' A package may have functions that are *program families* written in Rust: functions of class `dispatch_family`, made by
#' the generator of this toolkit, each with a help page of its own. The first call with a combination of dtypes, shapes and
#' static values compiles a program for it; calls that follow run what is there.
#'
#' `print()` shows the signature of such a function and the programs that it has. `family_stats()` counts, and
#' `family_explain()` tells whether a call has its program already, and if not, what is new about it. `family_warm()`
#' compiles the program of a call without running it. `family_clear()` forgets all programs.
#'
#' @section Arrays:
#' What is not static is an array: an [AnvlArray] of the backend "pjrt", a buffer (see [pjrt_buffer()]), or R's own data,
#' which is uploaded. R's data is a logical, integer, double or complex vector or array without a class, or a
#' `bit64::integer64`. A matrix or an array has its dimensions. A vector has one, but of length 1 it is a scalar where the
#' argument may be one.
#'
#' Arguments that share a dtype take it from the first that is an array on a device. Is there none, a double is `f64`, an
#' integer `i32` and a logical `bool`, if the argument allows that dtype, else it is the first that is allowed. Values are
#' converted to it exactly or with rounding to the nearest number of floating point; what the dtype does not hold (a
#' fraction in an integer type, a number out of range) is an error. An `NA` becomes `NaN` in a floating-point type, and is an
#' error in others.
#'
#' Several arrays in one argument are a list. Where its elements have names they are given by name, in any order.
#'
#' An argument that is donated gives its memory to the program: its buffer is gone after the call, and using it is an error.
#' Of R's own data it is the uploaded copy.
#'
#' @section Static values:
#' An argument that is static is a part of the program, which is compiled anew for each of its values: `TRUE` or `FALSE`, a
#' number, a string, a vector of those, or `NULL`. A whole number may be an integer or a double; `NA`, a fraction, an
#' infinite number or one of 2^53 and more is none. A string has to be valid in its encoding.
#'
#' @section Results:
#' They are arrays of class [AnvlArray], in a list where the family gives several; [as_array()] makes R's arrays of them.
#'
#' @param f,x A function of class `dispatch_family`.
#' @param ... For `family_explain()` and `family_warm()` the arguments of a call of `f`. In `family_warm()` an array may
#'   also be described: `list(dtype = "f32", shape = c(2, 3))`. In `print()` not used.
#' @return `family_stats()` a list: `hits` and `misses` of calls, `compiles` (misses that gave a program), `loads` (those of
#'   them whose program came from the [cache][pjrt_cache()] of earlier sessions), `evictions` to make room for others,
#'   `entries` now, and the `bytes` that they take as far as the plugin says. `family_explain()` a
#'   `DispatchExplanation` as [dispatch_explain()]. `family_warm()`, `family_clear()` and `print()` give the function,
#'   invisibly.
#' @seealso [expect_no_compile()] for tests, and [dispatcher()] for families written in R.
#' @name dispatch_family
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu") && nzchar(system.file(package = "famglm"))
#' # famglm is one of the examples in the sources of this toolkit.
#' ridge_fit <- getExportedValue("famglm", "ridge_fit")
#' x <- as.matrix(longley[names(longley) != "Employed"])
#' fit <- ridge_fit(x, longley$Employed, lambda = c(0, 0.1))
#' as_array(fit$coefficients)
#' ridge_fit
#' str(family_stats(ridge_fit))
#' family_explain(ridge_fit, x[1:10, ], longley$Employed[1:10], lambda = 1)
#' fit <- expect_no_compile(ridge_fit(2 * x, longley$Employed, lambda = c(1, 2)))
#' family_clear(ridge_fit)
NULL

# The functions of a package's families are made by the generator, which also makes `rs_family()` in the package's
# namespace: `rs_family(name, what, args)`, with `args` a list of all arguments in order, or NULL. It gives for
#
#   "stats"      list(hits, misses, compiles, loads, evictions, entries, bytes), numbers
#   "entries"    a list with a named character vector for each program, the last used first: part of the key -> value
#   "explain"    list(hit, message, part, now, cached), as `rs_dispatch_explain()`
#   "warm"       NULL; an array may be list(dtype, shape)
#   "clear"      NULL
#   "signature"  a list of columns with a row for each array, list of arrays and static value, in order: `argument`, its
#                path (`x`, `params$w`); `static`, `donated` and `written` (back), logical; `dtype` and `shape` in words, such
#                as "f32 or f64" and "(m, k)", NA of a static value; `value`, in words what a static takes, such as "TRUE or FALSE", NA of
#                an array; and `capacity`, a number
family_do <- function(f, what, args = NULL) {
  name <- family_name(f)
  env <- environment(f)
  # Looking into a namespace that was unloaded would load its package again.
  if (isNamespace(env) && !is_loaded(env)) {
    why <- "argument `f`: the package of `%s()` was unloaded: load it again, and take the function from there"
    raise_("unloaded", sprintf(why, name), "f")
  }
  rs_family <- get0("rs_family", env, mode = "function")
  if (is.null(rs_family)) {
    raise_("type", sprintf("argument `f`: `%s` has not the environment of its package", name), "f")
  }
  rs_family(name, what, args)
}

# Whether a namespace is the one of its package.
is_loaded <- function(namespace) {
  name <- getNamespaceName(namespace)
  isNamespaceLoaded(name) && identical(asNamespace(name), namespace)
}

# The name under which a family is known to its package.
family_name <- function(f) {
  if (!is.function(f) || !inherits(f, "dispatch_family")) {
    refuse(if (is.function(f)) f else unclass(f), "a function of class dispatch_family", "f")
  }
  name <- attr(f, "family", exact = TRUE)
  if (!is.character(name) || length(name) != 1L || is.na(name)) {
    expected <- "argument `f`: expected a function of a package of families, which has its name as attribute `family`, got "
    raise_("type", paste0(expected, if (is.null(name)) "one without" else "one with another attribute"), "f")
  }
  name
}

#' @rdname dispatch_family
#' @export
family_stats <- function(f) family_do(f, "stats")

#' @rdname dispatch_family
#' @export
family_explain <- function(f, ...) {
  call <- family_arguments(f, ...)
  as_explanation(family_do(call$f, "explain", call$args))
}

#' @rdname dispatch_family
#' @export
family_warm <- function(f, ...) {
  call <- family_arguments(f, ...)
  family_do(call$f, "warm", call$args)
  invisible(call$f)
}

#' @rdname dispatch_family
#' @export
family_clear <- function(f) {
  family_do(f, "clear")
  invisible(f)
}

# The family and the arguments of one of its calls. A family may have an argument `f` of its own: then the function is the
# first one without a name.
family_arguments <- function(f, ...) {
  given <- list(...)
  if (!inherits(f, "dispatch_family") && length(given) > 0L && inherits(given[[1L]], "dispatch_family")) {
    return(list(f = given[[1L]], args = family_match(given[[1L]], c(given[-1L], list(f = f)))))
  }
  # Refuses what is no family.
  family_name(f)
  list(f = f, args = family_match(f, given))
}

# Arguments in order, by name, matched as R matches those of the function, with its defaults.
family_match <- function(f, given) {
  formals <- formals(f)
  if ("..." %in% names(formals)) {
    raise_("type", "argument `f`: expected a function as the generator makes it, got one with `...`", "f")
  }
  # R matches the places of what was given: an error has no values in it. What is left over goes to the dots.
  definition <- as.function(c(formals, alist(... = , NULL)))
  call <- as.call(c(quote(f), stats::setNames(as.list(seq_along(given)), names(given))))
  places <- tryCatch(as.list(match.call(definition, call, expand.dots = FALSE))[-1L], error = identity)
  if (inherits(places, "error")) {
    raise_("argument", conditionMessage(places), NULL)
  }
  if (length(places$...) > 0L) {
    family_unused(f, formals, places$...[1L])
  }
  values <- formals
  for (name in names(formals)) {
    values[name] <- if (!is.null(places[[name]])) {
      given[places[[name]]]
    } else if (!identical(formals[[name]], quote(expr = ))) {
      list(eval(formals[[name]], baseenv()))
    } else {
      raise_("argument", sprintf("argument `%s`: it is missing, and has no default", name), name)
    }
  }
  as.list(values)
}

# The error that something was given which the function does not have.
family_unused <- function(f, formals, place) {
  what <- if (is.null(names(place)) || !nzchar(names(place))) sprintf("number %d", place[[1L]]) else sprintf("`%s`", names(place))
  has <- if (length(formals) == 0L) "no arguments" else paste0("`", names(formals), "`", collapse = ", ")
  raise_("argument", sprintf("unused argument %s: `%s()` has %s", what, family_name(f), has), NULL)
}

#' @rdname dispatch_family
#' @export
print.dispatch_family <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

#' @export
format.dispatch_family <- function(x, ...) {
  name <- family_name(x)
  # A function that was copied or whose package is gone still prints.
  told <- tryCatch(
    list(
      signature = family_do(x, "signature"), stats = family_do(x, "stats"), entries = family_do(x, "entries")
    ),
    pjrtdispatch_error = function(e) conditionMessage(e)
  )
  package <- environmentName(topenv(environment(x)))
  head <- c(sprintf("<dispatch_family %s::%s>", package, name), family_usage(x, name))
  if (is.character(told)) {
    return(c(head, told))
  }
  c(head, family_signature(told$signature), "", family_entries(told$signature$capacity, told$stats, told$entries))
}

# The call with its defaults, in as many lines as it takes.
family_usage <- function(x, name) {
  formals <- formals(x)
  required <- vapply(formals, identical, NA, quote(expr = ))
  arguments <- names(formals)
  defaults <- vapply(formals[!required], function(default) paste(deparse(default), collapse = " "), "")
  arguments[!required] <- paste(arguments[!required], "=", defaults)
  arguments <- paste0(arguments, c(rep(",", max(0L, length(arguments) - 1L)), ")"))
  if (length(formals) == 0L) {
    return(sprintf("%s()", name))
  }
  lines <- sprintf("%s(%s", name, arguments[[1L]])
  for (argument in arguments[-1L]) {
    last <- length(lines)
    if (nchar(lines[[last]]) + nchar(argument) < getOption("width")) {
      lines[[last]] <- paste(lines[[last]], argument)
    } else {
      lines <- c(lines, paste0("    ", argument))
    }
  }
  lines
}

# A line for each array and static value.
family_signature <- function(signature) {
  if (length(signature$argument) == 0L) {
    return(character())
  }
  what <- ifelse(signature$static, paste0("static: ", signature$value), paste(signature$dtype, signature$shape))
  # Packages that were built before do not tell it.
  written <- signature$written %||% FALSE
  paste0(
    "  ", format(signature$argument), "  ", what, ifelse(signature$donated, ", donated", ""),
    ifelse(written, ", written back", "")
  )
}

# How many programs are listed.
family_entries_shown <- 10L

# What was done, and a line for each program, the last used first.
family_entries <- function(capacity, stats, entries) {
  # A family without a limit has a number that no machine can hold.
  limit <- if (capacity < 2^32) sprintf(" of at most %.0f", capacity) else ""
  counts <- paste(
    c(
      paste0(counted(stats$entries, "program"), limit), counted(stats$hits, "hit"), counted(stats$misses, "miss", "misses"),
      if (stats$evictions > 0) counted(stats$evictions, "eviction")
    ),
    collapse = ", "
  )
  if (length(entries) == 0L) {
    return(counts)
  }
  shown <- head_of(entries, family_entries_shown)
  parts <- unique(unlist(lapply(shown, names)))
  if (length(parts) > 0L) {
    columns <- lapply(parts, function(part) {
      vapply(shown, function(entry) if (part %in% names(entry)) entry[[part]] else "", "")
    })
    names(columns) <- gsub("`", "", parts, fixed = TRUE)
    table <- as.data.frame(columns, optional = TRUE, row.names = seq_along(shown))
    counts <- c(counts, sub(" +$", "", utils::capture.output(print(table, right = FALSE))))
  }
  more <- length(entries) - length(shown)
  if (more > 0L) c(counts, sprintf("... and %s", counted(more, "more program"))) else counts
}
