# The help pages of a package must be well formed, and those that roxygen2 makes of the comments in its R files, byte for
# byte; and so its NAMESPACE.
#
#   Rscript help_pages.R FOLDER
package <- commandArgs(TRUE)
if (!requireNamespace("roxygen2", quietly = TRUE)) {
  cat("roxygen2 is not installed\n")
  quit(status = 77)
}
pages <- list.files(file.path(package, "man"), full.names = TRUE)
stopifnot(length(pages) > 0)
wrong <- unlist(lapply(pages, function(page) format(tools::checkRd(page, encoding = "UTF-8", def_enc = TRUE))))

copy <- file.path(tempfile(), basename(package))
dir.create(dirname(copy))
invisible(file.copy(package, dirname(copy), recursive = TRUE))
unlink(file.path(copy, "man"), recursive = TRUE)
sources <- function(path) {
  env <- new.env()
  for (file in list.files(file.path(path, "R"), full.names = TRUE)) sys.source(file, env)
  env
}
withCallingHandlers(
  suppressMessages(roxygen2::roxygenise(copy, load_code = sources)),
  warning = function(w) wrong <<- c(wrong, conditionMessage(w))
)
read <- function(folder, file) {
  path <- file.path(folder, file)
  if (file.exists(path)) readLines(path) else "no such file"
}
files <- c("NAMESPACE", file.path("man", union(basename(pages), list.files(file.path(copy, "man")))))
for (file in files) {
  ours <- read(package, file)
  theirs <- read(copy, file)
  if (!identical(ours, theirs)) {
    at <- which(c(ours, NA)[seq_len(max(length(ours), length(theirs)))] != theirs)[1]
    wrong <- c(wrong, sprintf("%s, line %s: `%s`, by roxygen2 `%s`", file, at, ours[at], theirs[at]))
  }
}
if (length(wrong)) {
  writeLines(wrong)
  quit(status = 1)
}
