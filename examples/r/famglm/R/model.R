# What the model functions have in common: from a formula and data to a design matrix.

#' @importFrom pjrtdispatch as_array
NULL

# The model frame of a call of `name(formula, data, ...)`, as `glm()` makes it: in the frame of the caller, with only
# those arguments that belong to a model frame.
frame_of <- function(call, caller) {
  parts <- match(c("formula", "data", "subset", "weights", "na.action", "offset"), names(call), 0L)
  call <- call[c(1L, parts)]
  call$drop.unused.levels <- TRUE
  call[[1L]] <- quote(stats::model.frame)
  frame <- eval(call, caller)
  if (nrow(frame) == 0L) {
    stop_user("no rows are left of the data", if (!is.null(attr(frame, "na.action"))) ": all have missing values")
  }
  frame
}

# The design matrix and what is needed to make another one like it.
design_of <- function(frame, contrasts) {
  terms <- attr(frame, "terms")
  x <- stats::model.matrix(terms, frame, contrasts)
  if (ncol(x) == 0L) stop_user("the model has no coefficients: the formula has neither terms nor an intercept")
  check_finite(x, "the terms of the formula")
  list(x = x, terms = terms, contrasts = attr(x, "contrasts"), xlevels = stats::.getXlevels(terms, frame))
}

# A design matrix and an offset for new data.
new_design <- function(object, newdata, na_action) {
  terms <- stats::delete.response(object$terms)
  frame <- stats::model.frame(terms, newdata, na.action = na_action, xlev = object$xlevels)
  classes <- attr(terms, "dataClasses")
  if (!is.null(classes)) stats::.checkMFClasses(classes, frame)
  x <- stats::model.matrix(terms, frame, contrasts.arg = object$contrasts)
  offset <- rep(0, nrow(x))
  for (i in attr(terms, "offset")) offset <- offset + eval(attr(terms, "variables")[[i + 1L]], newdata)
  if (!is.null(object$call$offset)) offset <- offset + eval(object$call$offset, newdata)
  list(x = x, offset = as.double(offset), na_action = attr(frame, "na.action"))
}

check_finite <- function(x, what) {
  if (!all(is.finite(x))) stop_user(what, " have values that are not finite")
}

# Refuses columns that depend on each other, and names those that the columns before them explain. Rows count by their
# weights.
check_independent <- function(x, weights = 1) {
  qr <- qr(x * sqrt(weights), tol = 1e-6)
  if (qr$rank < ncol(x)) {
    aliased <- colnames(x)[qr$pivot[seq_len(ncol(x)) > qr$rank]]
    stop_user(
      "the design matrix is rank deficient: ", paste0("`", aliased, "`", collapse = ", "),
      if (length(aliased) == 1L) " is a combination" else " are combinations",
      " of the other columns; leave terms out of the formula"
    )
  }
}

# An error or a warning that names the function which the user called.
stop_user <- function(...) stop(simpleError(paste0(...), user_call()))
warn_user <- function(...) warning(simpleWarning(paste0(...), user_call()))

user_call <- function() {
  space <- topenv()
  for (i in seq_len(sys.nframe())) {
    if (identical(environment(sys.function(i)), space)) return(sys.call(i))
  }
  NULL
}
