market <- list(spot = 100, rate = 0.05, volatility = 0.2, maturity = 1)
strikes <- c(80, 100, 120)

simulated <- function(sums, ..., strike = strikes) {
  do.call("simulate_options", c(list(sums, strike = strike), market, list(...)))
}

expected <- function(...) do.call(black_scholes, c(list(strikes), market, list(...)))

# Right within the errors, which are small enough to say something.
expect_priced <- function(prices, ...) {
  expect_true(all(prices$standard_error > 0 & prices$standard_error <= 0.05))
  expect_true(all(abs(prices$price - expected(...)) < 4 * prices$standard_error))
}

test_that("the closed form is that of the books", {
  expect_equal(expected()[2], 10.450583572185565)
  expect_equal(expected("put")[2], 5.573526022256971)
  expect_equal(expected("call") - expected("put"), 100 - strikes * exp(-0.05))
  expect_equal(expected("asian_call", 1), expected("call"))
  # Hull, Options, Futures and Other Derivatives.
  expect_equal(round(black_scholes(40, 42, 0.1, 0.2, 0.5), 2), 4.76)
})

test_that("prices are those of the closed form", {
  priced <- function(...) do.call(price_options, c(list(strikes), market, list(...)))
  calls <- priced(precision = 0.02)
  expect_priced(calls)
  expect_identical(calls$strike, strikes)
  expect_lte(max(calls$standard_error), 0.02)
  expect_priced(priced("put", precision = 0.05), "put")
  expect_priced(priced("asian_call", dates = 12, precision = 0.05), "asian_call", 12)
})

test_that("a simulation ends with the precision asked for, or with a warning", {
  coarse <- price_options(100, 100, 0.05, 0.2, 1, precision = 1, batch = 1000)
  expect_identical(attr(coarse, "paths"), 1000)
  expect_warning(
    some <- price_options(100, 100, 0.05, 0.2, 1, precision = 0.001, batch = 1000, max_paths = 3500),
    "after 3000 paths the largest standard error is still"
  )
  expect_identical(attr(some, "paths"), 3000)
})

test_that("a loop of 1000 calls compiles once and works in one memory", {
  family_clear(simulate_options)
  before <- family_stats(simulate_options)
  sums <- new_sums(1L, 3)
  for (i in 1:1000) {
    used <- sums
    step <- simulate_options(
      sums, strikes, spot = 90 + i / 100, rate = 0.05, volatility = 0.2, maturity = 1 + i / 1000, paths = 100
    )
    sums <- step$sums
  }
  after <- family_stats(simulate_options)
  expect_equal(after$compiles - before$compiles, 1)
  expect_equal(after$hits - before$hits, 999)
  expect_identical(as.vector(sums$paths), 1e5)
  # The sums of the call before were given away.
  expect_error(as.vector(used$mean), "donated")
  expect_error(simulated(used, paths = 100), "donated")
})

test_that("calls in any spelling share an entry, another payoff has its own", {
  family_clear(simulate_options)
  run <- function(...) simulated(new_sums(1L, 3), ...)$price
  first <- run(paths = 500)
  before <- family_stats(simulate_options)
  expect_identical(as.vector(run(paths = 500L)), as.vector(first))
  expect_identical(as.vector(run(payoff = "call", dates = 1, paths = 500)), as.vector(first))
  expect_equal(family_stats(simulate_options)$compiles, before$compiles)
  run(payoff = "put", paths = 500)
  expect_equal(family_stats(simulate_options)$compiles, before$compiles + 1)
})

test_that("a seed decides on all numbers", {
  run <- function(seed) as.vector(simulated(new_sums(seed, 3), paths = 1000)$price)
  expect_identical(run(7L), run(7L))
  expect_identical(run(7), run(7L))
  expect_false(any(run(7L) == run(8L)))
  set.seed(1)
  one <- run(9L)
  set.seed(2)
  expect_identical(run(9L), one)
})

test_that("the pieces of a simulation are independent and add up", {
  sums <- new_sums(3L, 3)
  piece <- new_sums(3L, 3)
  alone <- mean <- NULL
  for (i in 1:30) {
    # The same numbers in a simulation of their own.
    step <- simulated(piece, paths = 2000)
    piece <- new_sums(0L, 3)
    piece$key <- step$sums$key
    alone <- rbind(alone, as.vector(step$price))
    step <- simulated(sums, paths = 2000)
    sums <- step$sums
    mean <- rbind(mean, as.vector(step$price))
  }
  expect_identical(as.vector(sums$paths), 60000)
  expect_equal(anyDuplicated(alone), 0L)
  expect_equal(mean, apply(alone, 2L, cumsum) / 1:30)
  # Batches of 2000 differ as much as the standard error says.
  spread <- apply(alone, 2L, sd) / sqrt(30)
  expect_true(all(abs(spread / as.vector(step$standard_error) - 1) < 0.6))
})

test_that("wrong arguments are errors that name them", {
  expect_error(simulated(new_sums(1L, 3), paths = 0L), "`paths` has to be 1 at least, not 0")
  expect_error(simulated(new_sums(1L, 3), paths = 1.5), "paths")
  expect_error(simulated(new_sums(1L, 3), payoff = "cal"), "payoff")
  expect_error(simulated(new_sums(1L, 2)), "`sums` is of 2 strikes, and `strike` has 3")
  expect_error(simulated(new_sums(1L, 3)[-1]), "key")
  expect_error(rng_key(1.5), "seed")
  expect_error(rng_key(NA), "seed")
  expect_error(new_sums(1L, 0), "`strikes`")
  expect_error(price_options("a", 100, 0.05, 0.2, 1), "`strike`")
  expect_error(price_options(100, 100, 0.05, 0.2, 1, precision = 0), "`precision`")
})

test_that("how many paths a call adds is checked by its own name", {
  for (batch in list(NA, 0, 1.5, "many", 1:2)) {
    expect_error(price_options(100, 100, 0.05, 0.2, 1, batch = batch), "`batch` has to be a whole number above 0")
  }
})
