#' An empty simulation
#'
#' What [simulate_options()] starts from: no paths yet, and the key of a seed.
#'
#' @param seed A whole number: the same one gives the same simulation.
#' @param strikes How many strikes the options have.
#' @return A list of `key`, `paths`, `mean` and `squares`: the argument `sums` of [simulate_options()].
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' new_sums(1L, strikes = 2)
#' @export
new_sums <- function(seed, strikes) {
  if (!is.numeric(strikes) || length(strikes) != 1L || is.na(strikes) || strikes < 1 || strikes != round(strikes)) {
    stop("`strikes` has to be a whole number above 0")
  }
  list(key = rng_key(seed), paths = 0, mean = numeric(strikes), squares = numeric(strikes))
}

#' Price options by Monte-Carlo
#'
#' Adds paths, by [simulate_options()], until the prices are as exact as asked for.
#'
#' @param strike The strikes of the options.
#' @param spot The price today.
#' @param rate The interest rate per year, compounded continuously.
#' @param volatility The volatility per square root of a year.
#' @param maturity The years to maturity.
#' @param payoff What the options pay at maturity: what the price is above the strike (`"call"`), below it (`"put"`), or
#'   what the geometric mean of the prices at the dates is above it (`"asian_call"`).
#' @param dates How many dates there are, evenly spaced, the last one at maturity.
#' @param precision The largest standard error of a price to end with.
#' @param seed A whole number: the same one gives the same prices.
#' @param batch,max_paths How many paths each call adds, and how many there may be.
#' @return A data frame with a row for each strike, of `strike`, `price` and `standard_error`. The attribute `"paths"` has the
#'   number of paths. It is a warning if they did not suffice.
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' price_options(c(90, 100, 110), spot = 100, rate = 0.05, volatility = 0.2, maturity = 1, precision = 0.02)
#' black_scholes(c(90, 100, 110), spot = 100, rate = 0.05, volatility = 0.2, maturity = 1)
#' @export
price_options <- function(strike, spot, rate, volatility, maturity, payoff = c("call", "put", "asian_call"), dates = 1L,
                          precision = 0.01, seed = 1L, batch = 1e5, max_paths = 1e8) {
  payoff <- match.arg(payoff)
  if (!is.numeric(strike) || length(strike) == 0L || anyNA(strike)) stop("`strike` has to be numbers")
  if (!is.numeric(precision) || length(precision) != 1L || is.na(precision) || precision <= 0) {
    stop("`precision` has to be a number above 0")
  }
  if (!is.numeric(batch) || length(batch) != 1L || is.na(batch) || batch < 1 || batch != round(batch)) {
    stop("`batch` has to be a whole number above 0")
  }
  sums <- new_sums(seed, length(strike))
  paths <- 0
  repeat {
    step <- simulate_options(
      sums, as.double(strike), spot, rate, volatility, maturity,
      paths = batch, dates = dates, payoff = payoff
    )
    sums <- step$sums
    paths <- paths + batch
    error <- as.vector(step$standard_error)
    if (max(error) <= precision) break
    if (paths + batch > max_paths) {
      warning("after ", format(paths), " paths the largest standard error is still ", format(max(error)))
      break
    }
  }
  structure(
    data.frame(strike = strike, price = as.vector(step$price), standard_error = error), paths = paths
  )
}

#' Prices of options in closed form
#'
#' The prices that [price_options()] estimates, by the formula of Black and Scholes. The geometric mean of the prices at some
#' dates has a logarithm that is normal too.
#'
#' @inheritParams price_options
#' @return The price of each option.
#' @examples
#' black_scholes(c(90, 100, 110), spot = 100, rate = 0.05, volatility = 0.2, maturity = 1)
#' @export
black_scholes <- function(strike, spot, rate, volatility, maturity, payoff = c("call", "put", "asian_call"), dates = 1L) {
  payoff <- match.arg(payoff)
  mean <- (rate - volatility^2 / 2) * maturity
  deviation <- volatility * sqrt(maturity)
  if (payoff == "asian_call") {
    mean <- mean * (dates + 1) / (2 * dates)
    deviation <- deviation * sqrt((dates + 1) * (2 * dates + 1) / 6) / dates
  }
  forward <- spot * exp(mean + deviation^2 / 2)
  d <- (log(spot / strike) + mean) / deviation
  sign <- if (payoff == "put") -1 else 1
  exp(-rate * maturity) * sign * (forward * stats::pnorm(sign * (d + deviation)) - strike * stats::pnorm(sign * d))
}
