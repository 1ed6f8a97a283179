library(testthat)
library(pjrtdispatch)

filter <- Sys.getenv("TESTTHAT_FILTER")
test_check("pjrtdispatch", filter = if (nzchar(filter)) filter)
