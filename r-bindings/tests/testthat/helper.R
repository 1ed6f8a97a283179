# The condition that an expression raises.
condition_of <- function(expr) {
  tryCatch(
    {
      expr
      NULL
    },
    condition = identity
  )
}

# The message, code and argument of an error of ours, for snapshots; the call has to be the user's.
expect_fault <- function(expr, code, message, argument = NULL) {
  condition <- condition_of(expr)
  expect_s3_class(condition, c("pjrtdispatch_error", "error", "condition"), exact = TRUE)
  expect_identical(condition$code, code)
  expect_match(conditionMessage(condition), message, fixed = TRUE)
  if (!is.null(argument)) {
    expect_identical(condition$argument, argument)
  }
  invisible(condition)
}

# Runs code in a new R process with the package; gives what it prints and its exit status.
run_r <- function(code, env = character()) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  libs <- paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  writeLines(c("library(pjrtdispatch)", code), file)
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", file),
    stdout = TRUE, stderr = FALSE, env = c(libs, env)
  ))
  list(out = as.character(out), status = attr(out, "status") %||% 0L)
}

`%||%` <- function(x, y) if (is.null(x)) y else x
