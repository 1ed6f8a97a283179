library(testthat)
library(famglm)
library(pjrtdispatch)

if (plugins_downloaded("cpu")) {
  test_check("famglm")
} else {
  message("There is no CPU plugin, so nothing was tested: install_pjrt() gets one.")
}
