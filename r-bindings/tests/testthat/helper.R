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

# Runs code in a new R process with the package; gives what it prints, its errors and its exit status. Interactive R
# prints the code as well, and goes on after an error.
run_r <- function(code, env = character(), interactive = FALSE) {
  file <- tempfile(fileext = ".R")
  err <- tempfile()
  on.exit(unlink(c(file, err)))
  libs <- c(paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)), "PJRT_CPU_DEVICE_COUNT=")
  writeLines(c("library(pjrtdispatch)", code), file)
  bin <- function(name) file.path(R.home("bin"), name)
  out <- suppressWarnings(
    if (interactive) {
      system2(bin("R"), c("--interactive", "--no-readline", "--vanilla", "--quiet"),
        stdin = file, stdout = TRUE, stderr = err, env = c(libs, env)
      )
    } else {
      system2(bin("Rscript"), c("--vanilla", file), stdout = TRUE, stderr = err, env = c(libs, env))
    }
  )
  list(
    out = as.character(out), err = readChar(err, file.size(err), useBytes = TRUE),
    status = attr(out, "status") %||% 0L
  )
}

# The resident memory of this process in bytes; skips the test where it is not told.
resident <- function() {
  skip_if_not(file.exists("/proc/self/status"))
  status <- grep("^VmRSS", readLines("/proc/self/status"), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", status))
}

# Expects the same of a function where R collects at every eighth allocation.
expect_same_when_tortured <- function(run) {
  expected <- run()
  old <- gctorture2(8)
  on.exit(gctorture2(old))
  for (i in 1:3) {
    result <- run()
  }
  gctorture2(old)
  expect_identical(result, expected)
}

# Whether tests run in their full form.
is_long <- function() nzchar(Sys.getenv("DISPATCH_TEST_LONG"))

`%||%` <- function(x, y) if (is.null(x)) y else x
