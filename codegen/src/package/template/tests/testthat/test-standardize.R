x <- c(1, 4, 2, 8, 5, 7)

test_that("a vector is standardized as by scale()", {
  expect_equal(as.vector(pjrtdispatch::as_array(standardize(x))), as.vector(scale(x)))
  centred <- standardize(x, unit_variance = FALSE)
  expect_equal(as.vector(pjrtdispatch::as_array(centred)), x - mean(x))
})

test_that("a signature is compiled once", {
  pjrtdispatch::family_clear(standardize)
  before <- pjrtdispatch::family_stats(standardize)$compiles
  standardize(x)
  standardize(x + 1, TRUE)
  standardize(unit_variance = TRUE, x = x)
  expect_equal(pjrtdispatch::family_stats(standardize)$compiles - before, 1)
  standardize(x[-1])
  expect_equal(pjrtdispatch::family_stats(standardize)$compiles - before, 2)
})

test_that("an argument that does not fit is named", {
  expect_error(standardize(matrix(x, 2)), "x")
  expect_error(standardize("a"), "x")
  expect_error(standardize(x, unit_variance = NA), "unit_variance")
})
