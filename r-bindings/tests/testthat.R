library(testthat)
library(pjrtdispatch)

# All tests run in the project (`make test`), which sets NOT_CRAN; where a package is checked, a short set that touches
# every part does.
filter <- Sys.getenv("TESTTHAT_FILTER")
if (!nzchar(filter) && !identical(Sys.getenv("NOT_CRAN"), "true")) {
  filter <- "^(anvl-array|buffer|client|conditions|device|dispatcher-pjrt|program|tree)$"
}

if (plugins_downloaded("cpu")) {
  test_check("pjrtdispatch", filter = if (nzchar(filter)) filter)
} else {
  message("There is no CPU plugin, so nothing was tested: install_pjrt() gets one.")
}
