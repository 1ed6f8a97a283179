#' Converters: objects of any class as arguments
#'
#' A converter lets objects of a class be arguments wherever an array is one: of [dispatch()], of the functions that are made of
#' Rust ([dispatch_family]), of skeletons ([run()]), of [pjrt_execute()], [pjrt_buffer()] and [pjrt_scalar()].
#' `register_converter()` registers one for all calls of the session, for those of one dispatcher, or for those from the code of one
#' package; `with_converter()` one for the evaluation of an expression.
#'
#' Where data is R's own, as what [fill()] and the functions of [register_r_handler()] give, objects are refused.
#'
#' @section The way in:
#' `convert_in(x, expected)` gets the object and a list of what the argument has to be:
#' * `dtype`: the dtypes that it may have, as strings, `NULL` where that is not known;
#' * `shape`: its sizes, `NA` where no array of the call says which, `NULL` where not even their number is known;
#' * `path`: where the argument is, such as `"b$w[[2]]"`;
#' * `copy`: whether the data may be copied, `"if_needed"`, `"never"` or `"always"`.
#'
#' [dispatch()] knows the path and `copy` only. The function gives one of these:
#' * a logical, integer, double, `integer64` or complex vector or array; a vector without `dim` counts as one-dimensional;
#' * a [buffer][pjrt_buffer()] or an [AnvlArray];
#' * a [view][host_view()] of where the data lies.
#'
#' From there on the call goes on as if that had been the argument: it is part of the key with its dtype and shape, and the callback
#' of a dispatcher sees it in place of the object. So no program is used for an object that was converted to another dtype or
#' shape. Static arguments are never converted.
#'
#' A dispatcher of a backend other than `"pjrt"` takes data of R, and arrays of that backend: of a view it gets the elements, copied to
#' a vector or an array, and a buffer is an error.
#'
#' What has the wrong dtype or shape, or is something else, is an error that names the converter and the argument. So is an error
#' in the function; the condition that it raised is the field `parent`.
#'
#' @section The way back:
#' An argument of a function made of Rust may be declared to be written back. If it was converted, the result that takes its
#' place is what `convert_out(result, original, info)` gives for it, `NULL` without such a function: `result` is an
#' [AnvlArray], `original` the object, and `info` a list of the names `function` and `argument`, and the argument's position,
#' `index`. The function may write into the object, too. An `integer64`, which is R data to other arguments, is an object here.
#'
#' The same object twice in such a call is an error, and so are two objects with views ([host_view()], [mmap_array()], those of the
#' converters that ship) of the same memory, or of the same part of a file, even if only a part of it is common. So is a view that is
#' read-only, or whose elements share memory, as with a stride of 0.
#'
#' Of a function with several such arguments all results are waited for before the first `convert_out` is called. If a later one fails,
#' the call does, but what those before it wrote stays written.
#'
#' @section Which converter:
#' One for the first class of the object comes before one for the second, and so on in the order of [class()], or, for
#' S4 objects, of the classes that theirs extends; those with a predicate come last. Where that leaves several, the nearest is
#' taken:
#'
#' | scope | registered by | counts |
#' |---|---|---|
#' | a call | `with_converter()` | while the expression is evaluated, the innermost first |
#' | a dispatcher | `scope = dispatcher` | in its calls |
#' | a package | `scope = "famglm"` | where code of the package calls |
#' | all | `scope = NULL` | everywhere |
#'
#' Two that are equal in all that are an error that names both. Converters that are not active are ignored.
#'
#' Arrays and R data that the consumer takes anyway are never looked up, so that converters cost nothing where they are not used.
#' Of other objects without a class attribute the implicit class counts, as `"character"`.
#'
#' @section Copies:
#' With `copy = "never"` a call is an error if the data would have to be copied, as R data always is; with `"if_needed"` it is
#' copied if there is no other way; with `"always"` it is copied even so. [with_copy()] says it for calls.
#'
#' @section The code of a package:
#' A call is from the code of the package whose function calls [dispatch()], [run()] or [pjrt_buffer()]; the functions that are
#' made of Rust are code of their package themselves. Where a function of R's own packages is between, such as [lapply()], it is
#' the package whose function called that.
#'
#' An argument is code of whoever wrote it: where a script says `fit(pjrt_buffer(x))`, the converters of the package of `fit()` do not
#' count for `x`. Nor do they in a function that a script hands to that package.
#'
#' A package that is named as a scope need not be loaded, or installed, yet. When it is unloaded, those of its scope's converters go
#' that belong to it.
#'
#' @section Whose it is:
#' A converter belongs to the package in whose namespace `convert_in` was defined, and goes when that is unloaded. Packages register
#' theirs in `.onLoad()`. Registering and removing is possible at any time, also while a converter runs: a call goes on with the
#' one that it has found. R functions run on R's own thread, and may dispatch calls themselves.
#'
#' @param class The class of the objects; `NULL` with a `predicate`.
#' @param convert_in A function `(x, expected)` that gives the array, see below.
#' @param convert_out A function `(result, original, info)` that gives an object for a result, see below.
#' @param description A string that tells the converter from others, for people and as the name of it.
#' @param predicate In place of a class: a function of an object that gives whether the converter is for it.
#' @param copy Whether data may be copied: `"if_needed"`, `"never"` or `"always"`, see below.
#' @param scope The calls that the converter is for: those of a [dispatcher()]; those from the code of a package, given by its name or
#'   its namespace; `NULL` for all. See below.
#' @param expr An expression.
#' @return `register_converter()` a `PJRTConverter`, invisibly, which names the converter to [remove_converter()] and
#'   [set_converter_status()]. `with_converter()` the value of the expression.
#' @seealso [converters()] for those that there are, [shipped_converters] for those of this package.
#' @export
#' @examples
#' # A dispatcher that sums, with R itself as the backend.
#' total <- dispatcher(
#'   8, function(info) list(r_fun = function(leaves) sum(leaves[[1]])),
#'   backend = "plain", move_inputs = TRUE, extractor = identity
#' )
#' sequence <- structure(10L, class = "sequence")
#' try(dispatch(total, list(x = sequence)))
#'
#' register_converter("sequence", function(x, expected) seq_len(x), description = "sequence to integer")
#' dispatch(total, list(x = sequence))
#' converters()
#'
#' # Only here, and before the other one:
#' with_converter("sequence", function(x, expected) rev(seq_len(x)) / 10, dispatch(total, list(x = sequence)))
#'
#' # In the calls of this dispatcher, and from the code of a package:
#' of_total <- register_converter("sequence", function(x, expected) 0, description = "nothing", scope = total)
#' register_converter("sequence", function(x, expected) 1, description = "one", scope = "somepackage")
#' dispatch(total, list(x = sequence))
#'
#' remove_converter(of_total)
#' remove_converter("one", scope = "somepackage")
#' remove_converter("sequence to integer")
register_converter <- function(class, convert_in, convert_out = NULL, description, predicate = NULL, copy = "if_needed",
                               scope = NULL) {
  if (missing(description)) {
    raise_("argument", "argument `description`: expected a string that tells the converter from others, got none", "description")
  }
  converter_checked(class, convert_in, convert_out, predicate)
  scope <- converter_scope(scope)
  package <- converter_package(convert_in, parent.frame())
  id <- rs_register_converter(class, convert_in, convert_out, description, predicate, copy, package, scope, FALSE)
  forget_with(package)
  about <- list(id = id, class = class, description = description, package = package, scope = scope)
  invisible(structure(about, class = "PJRTConverter"))
}

#' @rdname register_converter
#' @export
with_converter <- function(class, convert_in, expr, convert_out = NULL, description = paste("a converter for", class %||% "objects"),
                           predicate = NULL, copy = "if_needed") {
  converter_checked(class, convert_in, convert_out, predicate)
  package <- converter_package(convert_in, parent.frame())
  around <- rs_register_converter(class, convert_in, convert_out, description, predicate, copy, package, NULL, TRUE)
  on.exit(rs_converter_end(around))
  force(expr)
}

#' Which converters there are
#'
#' `converters()` lists the [converters][register_converter()] that are registered, in the order in which they came. Converters can be
#' switched off and on by `set_converter_status()`, and removed by `remove_converter()`.
#'
#' @param id Which converter: its position in `converters()`, its description, or what [register_converter()] gave.
#' @param active Whether the converter is to be used.
#' @param scope Which converters are meant: those of a [dispatcher()], or of a package, by its name or its namespace; `NULL` for those
#'   of all calls.
#' @param all Whether to list those of all calls and those of all packages, with the package in the column `scope`, `NA` for all
#'   calls.
#' @return `converters()` a data frame with a row for each converter: its `class`, `NA` if it has a predicate, `description`,
#'   `package` (`NA` if it is none's), whether it is `active`, whether it is `native`, that is a function of a package in Rust, how
#'   many objects it has converted in `calls`, and the `bytes_copied` on the host for them. `converter_count()` how many there are,
#'   active or not; `converter_descriptions()` their descriptions; `converter_status()` whether they are active, named by their
#'   descriptions. `set_converter_status()` whether it was active before, invisibly. `remove_converter()` `NULL`,
#'   invisibly.
#'
#' @section Errors:
#' There is no converter with this position or description, or several have the description: then the position says which.
#' @export
#' @examples
#' register_converter("sequence", function(x, expected) seq_len(x), description = "sequence to integer")
#' converter_count()
#' converter_descriptions()
#' set_converter_status("sequence to integer", FALSE)
#' converter_status()
#' set_converter_status("sequence to integer", TRUE)
#' converters()
#' remove_converter("sequence to integer")
converters <- function(scope = NULL, all = FALSE) {
  if (isTRUE(all) && !is.null(scope)) {
    refuse(scope, "NULL where `all` is TRUE", "scope")
  }
  data.frame(rs_converters(converter_scope(scope), all), stringsAsFactors = FALSE)
}

#' @rdname converters
#' @export
converter_count <- function(scope = NULL) length(converter_columns(scope)$active)

#' @rdname converters
#' @export
converter_descriptions <- function(scope = NULL) converter_columns(scope)$description

#' @rdname converters
#' @export
converter_status <- function(scope = NULL) {
  columns <- converter_columns(scope)
  status <- columns$active
  names(status) <- columns$description
  status
}

#' @rdname converters
#' @export
set_converter_status <- function(id, active, scope = NULL) {
  which <- converter_named(id, scope)
  if (missing(active)) refuse(active, "TRUE or FALSE")
  invisible(rs_converter_set(which$id, which$is_number, active, which$scope))
}

#' @rdname converters
#' @export
remove_converter <- function(id, scope = NULL) {
  which <- converter_named(id, scope)
  invisible(rs_remove_converter(which$id, which$is_number, which$scope))
}

#' Whether converters may copy
#'
#' `with_copy()` evaluates an expression in whose calls the data of converted objects is copied or not as `policy` says, whatever their
#' [converters][register_converter()] were registered with.
#'
#' @param policy `"never"`: a call is an error, which says why, if data would have to be copied; `"if_needed"`: it is copied if there is
#'   no other way; `"always"`: it is copied, so that nothing that happens to the object later can be seen.
#' @param expr An expression.
#' @return The value of the expression.
#' @export
#' @examples
#' total <- dispatcher(
#'   8, function(info) list(r_fun = function(leaves) sum(leaves[[1]])),
#'   backend = "plain", move_inputs = TRUE, extractor = identity
#' )
#' sequence <- structure(10L, class = "sequence")
#' with_converter("sequence", function(x, expected) seq_len(x), {
#'   # What the converter gives is data of R, which is copied to a device.
#'   try(with_copy("never", dispatch(total, list(sequence))))
#' })
with_copy <- function(policy, expr) {
  if (missing(policy) || is.null(policy)) {
    refuse(policy, "one of \"never\", \"if_needed\" and \"always\"", "policy")
  }
  before <- rs_copy_policy(policy)
  on.exit(rs_copy_policy(before))
  force(expr)
}

#' @export
format.PJRTConverter <- function(x, ...) {
  of <- if (is.null(x$class)) "" else sprintf(" for class \"%s\"", x$class)
  from <- if (is.null(x$package)) "" else sprintf(", package %s", x$package)
  calls <- if (is.character(x$scope)) paste("package", x$scope) else if (!is.null(x$scope)) "a dispatcher"
  within <- if (is.null(calls)) "" else sprintf(", in calls of %s", calls)
  sprintf("<PJRTConverter \"%s\"%s%s%s>", x$description, of, from, within)
}

#' @export
print.PJRTConverter <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# Refuses what is no converter. The rest is checked where it is registered.
converter_checked <- function(class, convert_in, convert_out, predicate) {
  if (missing(class)) refuse(class, "the name of a class, or NULL with a `predicate`", "class")
  converter_function(convert_in, "convert_in", c("x", "expected"))
  if (!is.null(convert_out)) converter_function(convert_out, "convert_out", c("result", "original", "info"))
  if (is.null(class)) {
    if (is.null(predicate)) refuse(class, "the name of a class, or a `predicate`", "class")
    converter_function(predicate, "predicate", "x")
  } else if (!is.null(predicate)) {
    refuse(predicate, "NULL where there is a class", "predicate")
  }
}

# Refuses what is no function of as many arguments.
converter_function <- function(f, argument, takes) {
  expected <- sprintf("a function of %s", paste0("`", takes, "`", collapse = ", "))
  if (missing(f) || !is.function(f)) {
    refuse(f, expected, argument)
  }
  # Of some primitives nobody knows.
  closure <- if (is.primitive(f)) args(f) else f
  formals <- if (!is.null(closure)) names(formals(closure))
  known <- !is.primitive(f) || !is.null(formals)
  if (known && !"..." %in% formals && length(formals) < length(takes)) {
    got <- counted(length(formals), "argument")
    raise_("value", sprintf("argument `%s`: expected %s, got one of %s", argument, expected, got), argument)
  }
}

# The package whose a converter is: the one that defines the function, or, of a primitive, the one that registers it.
converter_package <- function(convert_in, caller) {
  package_of(environment(convert_in) %||% caller)
}

# Which converter is meant: `id` for Rust, whether it is the number of one, and the scope that it is in.
converter_named <- function(id, scope) {
  if (missing(id)) refuse(id, "the index or the description of a converter, or what `register_converter()` gave", "id")
  if (inherits(id, "PJRTConverter") && is.list(id)) {
    return(list(id = id$id, is_number = TRUE, scope = converter_scope(scope) %||% id$scope))
  }
  list(id = id, is_number = FALSE, scope = converter_scope(scope))
}

# A scope as Rust takes it, which refuses what is none: of a namespace it is the name.
converter_scope <- function(scope) {
  if (is.environment(scope) && isNamespace(scope)) getNamespaceName(scope)[[1L]] else scope
}

converter_columns <- function(scope) rs_converters(converter_scope(scope), FALSE)

# The package whose code calls: that of the function that has called one of these packages; `NULL` for a script's. From caller to
# caller, since an argument is evaluated inside of the function that it is for, but is code of whoever wrote it. Called from Rust.
calling_package <- function(passed_over) {
  parents <- sys.parents()
  frame <- sys.nframe() - 1L
  while (frame > 0L) {
    f <- sys.function(frame)
    # What `eval()` evaluates has a frame of its own, by a primitive: it is code of where it is evaluated.
    env <- topenv(if (is.primitive(f)) sys.frame(frame) else environment(f))
    if (identical(env, globalenv())) {
      return(NULL)
    }
    if (isNamespace(env)) {
      package <- getNamespaceName(env)[[1L]]
      if (!package %in% passed_over) return(package)
    }
    # A caller that has returned is not known: then it is the frame before.
    frame <- if (parents[[frame]] < frame) parents[[frame]] else frame - 1L
  }
  NULL
}

# What gets the errors of the functions of a converter, made when it is registered. `converter` is the list of them.
converter_handler <- function(id, converter) {
  function(condition) {
    path <- rs_converter_path(id)
    argument <- if (is.null(path)) "" else sprintf("argument `%s`: ", path)
    message <- sprintf("%sthe converter `%s` failed: %s", argument, converter$description, text_of(condition))
    stop(structure(
      class = c("pjrtdispatch_error", "error", "condition"),
      list(
        message = message, call = call_around(converter), code = "converter", argument = path, parent = condition
      )
    ))
  }
}

# The user's call in which a function of a converter runs.
call_around <- function(converter) {
  functions <- Filter(is.function, converter[c("convert_in", "convert_out", "predicate")])
  for (frame in rev(seq_len(sys.nframe()))) {
    f <- sys.function(frame)
    if (any(vapply(functions, identical, NA, f))) {
      # The function was called by Rust, and that by the function before.
      return(user_call(frame - 1L))
    }
  }
  NULL
}
