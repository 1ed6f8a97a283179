# Comparing ways to do one thing, as `tests/bench/src/harness.rs` does: machines change their speed for seconds at a
# time, so two ways are only compared within one round. Each round runs a block of every case, in random order, and
# what counts is the median over the rounds of the differences (or ratios) of two cases.

# A case from an expression: a function that runs it `n` times, and gives the seconds per run.
case <- function(expr, env = parent.frame()) {
  body <- bquote({
    start <- .Call(.(floor_now))
    for (i in seq_len(n)) .(substitute(expr))
    (.Call(.(floor_now)) - start) / n
  })
  compiler::cmpfun(eval(call("function", as.pairlist(alist(n = )), body), env))
}

# The same for a function of C that does it `n` times itself.
case_in_c <- function(run) {
  force(run)
  compiler::cmpfun(function(n) {
    start <- .Call(floor_now)
    run(n)
    (.Call(floor_now) - start) / n
  })
}

# Microseconds per run: a row for each round, a column for each case.
rounds <- function(cases, rounds, calls, warm_up = max(calls %/% 6L, 1L)) {
  for (case in cases) case(100L * warm_up)
  times <- matrix(NA_real_, rounds, length(cases), dimnames = list(NULL, names(cases)))
  for (round in seq_len(rounds)) {
    for (i in sample(length(cases))) {
      cases[[i]](warm_up)
      times[round, i] <- cases[[i]](calls)
    }
  }
  times * 1e6
}

# The times of each case, for reading.
show_rounds <- function(title, times) {
  cat(sprintf("\n%s (µs per call, %d rounds)\n", title, nrow(times)))
  for (name in colnames(times)) {
    cat(sprintf("  %-48s least %9.3f  median %9.3f\n", name, min(times[, name]), stats::median(times[, name])))
  }
}

# Gives a figure to the benchmark that started this: smaller is better, and at most `limit`.
figure <- function(name, values, unit, limit = "") {
  cat("figure", name, stats::median(values), unit, limit, sep = "\t")
  cat("\n")
}
