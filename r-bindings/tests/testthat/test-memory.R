test_that("nothing that is in use is collected", {
  # A collection at every eighth allocation; only what this package does is under test.
  x <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  wide <- bit64::as.integer64(1:3)
  text <- "func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    return %a, %a : tensor<2x3xf32>, tensor<2x3xf32>
  }"
  double <- pjrt_compile(pjrt_program(text))
  run <- function() {
    results <- pjrt_execute(double, pjrt_buffer(x))
    list(
      as_array(results[[2]]), as_array(pjrt_buffer(wide)), dtype(results[[1]]), shape(results[[1]]),
      format(results[[1]]), tryCatch(pjrt_buffer("a"), error = function(e) e$argument),
      as.character(pjrt_device("cpu:1")), names(plugin_attributes(pjrt_plugin("cpu")))[[1]]
    )
  }
  expected <- run()
  old <- gctorture2(8)
  on.exit(gctorture2(old))
  for (i in 1:3) {
    result <- run()
  }
  gctorture2(old)
  expect_identical(result, expected)
})

test_that("handles end with their last use", {
  gc()
  before <- rs_live_bytes()
  x <- lapply(1:100, function(i) pjrt_buffer(1:100))
  expect_identical(rs_live_bytes() - before, 100 * (400 + 512))
  rm(x)
  gc()
  expect_lte(rs_live_bytes(), before)
})
