# A small package with these R files, installed into a library of its own.
install_stand_in <- function(name, exports, code, namespace = character(), description = character()) {
  folder <- file.path(tempfile("source"), name)
  lib <- tempfile("library")
  dir.create(file.path(folder, "R"), recursive = TRUE)
  dir.create(lib)
  about <- c(paste("Package:", name), "Version: 0.0.1", "Title: A Stand-In", "Description: For tests.", description)
  writeLines(about, file.path(folder, "DESCRIPTION"))
  writeLines(c(sprintf("export(%s)", exports), namespace), file.path(folder, "NAMESPACE"))
  writeLines(code, file.path(folder, "R", "all.R"))
  options <- c("--no-test-load", "--no-docs")
  utils::install.packages(folder, lib, repos = NULL, type = "source", quiet = TRUE, INSTALL_opts = options)
  lib
}

# Runs code in a new R process that has the stand-ins too; gives what it prints.
run_with <- function(libs, code, load = "library(pjrtdispatch)") {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  paths <- paste0("R_LIBS=", paste(c(libs, .libPaths()), collapse = .Platform$path.sep))
  writeLines(c(load, code), file)
  rscript <- file.path(R.home("bin"), "Rscript")
  out <- suppressWarnings(system2(rscript, c("--vanilla", file), stdout = TRUE, stderr = FALSE, env = paths))
  expect_null(attr(out, "status"))
  out[!grepl("^(WARNING|[IW]0000)", out)]
}

# Whether the package itself is there, beside which a stand-in would be of no use.
is_installed <- function(package) nzchar(system.file(package = package))
