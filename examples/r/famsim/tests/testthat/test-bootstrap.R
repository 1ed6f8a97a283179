test_that("the errors of a mean are those of theory", {
  x <- mtcars$mpg
  b <- bootstrap(x, rng_key(1L), replicates = 20000L)
  expect_equal(as.vector(b$estimate), mean(x))
  expect_length(as.vector(b$replicates), 20000L)
  theory <- sqrt(mean((x - mean(x))^2) / length(x))
  expect_lt(abs(as.vector(b$standard_error) / theory - 1), 0.02)
  expect_equal(as.vector(b$standard_error), sd(as.vector(b$replicates)))
})

test_that("statistics are those of R", {
  for (n in 2:5) {
    x <- mtcars$hp[1:n]
    expect_equal(as.vector(bootstrap(x, rng_key(1L), 10, "median")$estimate), median(x))
    expect_equal(as.vector(bootstrap(x, rng_key(1L), 10, "sd")$estimate), sd(x))
  }
  # A resample of two is one of them twice, or both: the medians are three numbers with known chances.
  medians <- as.vector(bootstrap(c(0, 1), rng_key(2L), 40000L, statistic = "median")$replicates)
  expect_lt(max(abs(table(medians) / 40000 - c(1, 2, 1) / 4)), 0.01)
})

test_that("a key decides on all numbers, and gives the next one", {
  run <- function(key) bootstrap(mtcars$mpg, key, 100L)
  first <- run(rng_key(5L))
  again <- run(rng_key(5L))
  expect_identical(as.vector(first$replicates), as.vector(again$replicates))
  second <- run(first$key)
  expect_false(isTRUE(all.equal(as.vector(first$replicates), as.vector(second$replicates))))
  expect_identical(as.vector(run(again$key)$replicates), as.vector(second$replicates))
})

test_that("a static count is part of the program", {
  family_clear(bootstrap)
  key <- rng_key(1L)
  before <- family_stats(bootstrap)$compiles
  for (n in c(50L, 60L, 50L)) expect_length(as.vector(bootstrap(mtcars$mpg, key, n)$replicates), n)
  expect_equal(family_stats(bootstrap)$compiles - before, 2)
  expect_error(bootstrap(mtcars$mpg, key, 1L), "`replicates` has to be 2 at least, not 1")
  expect_error(bootstrap(1, key), "`x` has to have 2 elements at least, not 1")
})
