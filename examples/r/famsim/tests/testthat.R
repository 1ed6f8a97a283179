library(testthat)
library(famsim)
library(pjrtdispatch)

if (plugins_downloaded("cpu")) {
  test_check("famsim")
} else {
  message("There is no CPU plugin, so nothing was tested: install_pjrt() gets one.")
}
