library(testthat)
library(virtualseq)
library(pjrtdispatch)

if (plugins_downloaded("cpu")) {
  test_check("virtualseq")
} else {
  message("There is no CPU plugin, so nothing was tested: install_pjrt() gets one.")
}
