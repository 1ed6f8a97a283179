key <- function(x) rs_static_words(x)
same <- function(a, b) expect_identical(key(a), key(b))
differ <- function(a, b) expect_false(identical(key(a), key(b)))

# How often a dispatcher compiles for these static values, one after the other.
compiles_for <- function(...) {
  d <- plain(function(leaves) "done", static = "s")$d
  for (s in list(...)) dispatch(d, list(1, s = s))
  compiles(d)
}

test_that("static values are compared as identical(num.eq = FALSE) does", {
  values <- list(
    1L, TRUE, 1, "1", as.raw(1), NA, NA_integer_, NA_real_, NA_character_, NA_complex_, NaN, 0, -1 * 0, Inf, -Inf, NULL,
    list(), list(NULL), setNames(list(), character()), setNames(list(1), ""), setNames(list(1), NA), list(1), 1i, 1 + 0i,
    quote(x), quote(x + y), quote(x(y)), quote(x[y]), ~x, y ~ x, globalenv(), emptyenv(), baseenv(), sum, c, mean,
    function(x) x, function(x) x + 1, function(y) y, function(x = 1) x, c(1, 2), c(a = 1, b = 2), c(b = 1, a = 2),
    list(1, 2), list(list(1), 2), list(list(1, 2)), list(a = 1), matrix(1:6, 2), matrix(1:6, 3), 1:6, "\u00e9", "e",
    data.frame(a = 1:3), data.frame(a = 1:3, row.names = c("a", "b", "c")), data.frame(a = 1:2), factor("a"),
    factor("b"), expression(a), expression(b), pairlist(1), pairlist(a = 1), character(), "", c("a", "b"), "ab",
    c("ab", ""), structure(1, k = 1), structure(1, k = 2), structure(1, l = 1), structure(1L, class = "a"),
    structure(1L, class = c("a", "b")), as.raw(1:9), as.raw(1:8), Sys.Date()[0], as.Date("2020-01-01"), .Machine,
    complex(real = 5, imaginary = NaN), complex(real = 7, imaginary = NaN), complex(real = NA, imaginary = 1)
  )
  for (i in seq_along(values)) {
    for (j in seq_along(values)) {
      alike <- identical(key(values[[i]]), key(values[[j]]))
      if (alike != identical(values[[i]], values[[j]], num.eq = FALSE)) {
        fail(paste("values", i, "and", j))
      }
    }
  }
  succeed()
})

test_that("numbers of different types are different keys", {
  expect_identical(compiles_for(1L, TRUE, 1, "1", as.raw(1)), 5L)
  expect_identical(compiles_for(0, -1 * 0, 0, -1 * 0), 2L)
  odd <- function(re) complex(real = re, imaginary = NaN)
  expect_identical(compiles_for(odd(5), odd(7), odd(5)), 2L)
})

test_that("NA of one type is one key, and so is NaN", {
  nan <- function(word) readBin(as.raw(c(word, 0, 0, 0, 0, 0, 0xf8, 0x7f)), "double")
  same(NaN, nan(1))
  same(NaN, -NaN)
  same(NA_real_, NA_real_ + 1)
  differ(NA_real_, NaN)
  same(c(1, NaN), c(1, nan(7)))
  expect_identical(compiles_for(NaN, nan(1), nan(2), NA_real_), 2L)
})

test_that("values made anew are found again", {
  expect_identical(do.call(compiles_for, lapply(1:5, function(i) list(2, 3))), 1L)
  same(1:3, c(1L, 2L, 3L))
  same(as.character(1:3), c("1", "2", "3"))
  expect_identical(compiles_for(1:3, c(1L, 2L, 3L)), 1L)
  expect_identical(compiles_for(mean, mean, sum, sum), 2L)
})

test_that("an integer64 is compared by its 64 bits wherever it stands", {
  skip_if_not_installed("bit64")
  int64 <- bit64::as.integer64
  expect_identical(compiles_for(int64(-1), int64(-2), int64(-1), int64(1), 1), 4L)
  differ(list(int64(-1)), list(int64(-2)))
  differ(structure(1, k = int64(-1)), structure(1, k = int64(-2)))
  differ(int64(NA), int64(0))
  same(int64(NA), int64(NA))
})

test_that("strings are compared by content across encodings", {
  latin1 <- "caf\xe9"
  Encoding(latin1) <- "latin1"
  same(latin1, "caf\u00e9")
  same(list(a = latin1), list(a = "caf\u00e9"))
  same(setNames(1, latin1), setNames(1, "caf\u00e9"))
  bytes <- "caf\xe9"
  Encoding(bytes) <- "bytes"
  differ(bytes, latin1)
  # R writes what is not valid with its number, which is another string.
  differ("caf\xe9", "caf<e9>")
  differ("caf\xe9", bytes)
  same("caf\xe9", "caf\xe9")
  same(bytes, bytes)
})

test_that("attributes are a set", {
  same(structure(1, a = 1, b = "x"), structure(1, b = "x", a = 1))
  differ(structure(1, a = 1), structure(1, a = 2))
  compact <- data.frame(a = 1:3)
  written <- compact
  attr(written, "row.names") <- c(1L, 2L, 3L)
  same(compact, written)
})

test_that("closures are compared by formals, body and environment", {
  make <- function(value) function(x) x + value
  two <- make(2)
  expect_identical(compiles_for(two, make(3), two), 2L)
  env <- new.env()
  from <- function(text) eval(parse(text = text, keep.source = TRUE), env)
  a <- from("function(x) {\n  lapply(x, function(y) {\n y }) }")
  b <- from("function(x) { lapply(x, function(y) { y }) }")
  same(a, b)
  same(compiler::cmpfun(a), b)
  for (i in 1:5) a(1)
  same(a, b)
  differ(b, from("function(x) { lapply(x, function(z) { z }) }"))
  differ(b, from("function(x, ...) { lapply(x, function(y) { y }) }"))
  differ(b, structure(b, class = "f"))
})

test_that("environments and pointers are compared by identity, and stay alive with the entry", {
  one <- new.env()
  differ(one, new.env())
  same(one, one)
  same(pjrt_device("cpu"), pjrt_device("cpu:0"))
  differ(pjrt_device("cpu:0"), pjrt_device("cpu:1"))

  d <- plain(static = "s")$d
  for (i in 1:50) {
    dispatch(d, list(s = new.env()))
    gc(FALSE)
  }
  expect_identical(compiles(d), 50L)
})

test_that("a static value that is nested too deeply is an error", {
  deep <- list()
  for (i in 1:5000) deep <- list(deep)
  expect_fault(dispatch(plain(static = "s")$d, list(s = list(deep))), "value", "argument `s`: a value is nested", "s")
})

test_that("no static value is the beginning of another one", {
  expect_identical(compiles_for(list("a", "b"), list("ab"), list("a\001b"), list(list("a"), "b"), list("a", list("b"))), 5L)
  expect_identical(compiles_for(c("a", NA), "a", c(a = "a"), list(a = "a")), 4L)
})

test_that("random values are one key exactly if they are identical", {
  environments <- list(globalenv(), new.env(), new.env())
  some <- function(x, most) sample(x, sample(0:most, 1), TRUE)
  atom <- function() {
    switch(sample(15, 1),
      some(c(NA, TRUE, FALSE), 3), some(c(NA, 0L, 1L), 3), some(c(NA, NaN, 0, -0, Inf), 3), some(c("a", NA, "", "\u00e9"), 3),
      complex(real = sample(c(0, NA, NaN, -0), 2, TRUE), imaginary = sample(c(0, 1, NaN), 2, TRUE)),
      as.raw(some(0:2, 9)), NULL, sample(environments, 1)[[1]], quote(x), as.call(list(quote(f), sample(1:2, 1))),
      eval(
        parse(text = sample(c("function(x) x", "function(x) {x}", "function(y) y"), 1), keep.source = sample(c(TRUE, FALSE), 1)),
        sample(environments, 1)[[1]]
      ),
      factor(sample(c("a", "b"), 1)), sample(1:2, 1):3, as.pairlist(list(a = sample(1:2, 1))), expression(a, b)[sample(2, 1)]
    )
  }
  value <- function(depth) {
    x <- if (depth > 0 && runif(1) < 0.5) lapply(seq_len(sample(0:3, 1)), function(i) value(depth - 1)) else atom()
    if (is.vector(x) && length(x) && runif(1) < 0.3) names(x) <- sample(c("a", "b", ""), length(x), TRUE)
    if (is.vector(x) && runif(1) < 0.4) for (name in sample(c("p", "q"), sample(0:2, 1))) attr(x, name) <- atom()
    x
  }
  set.seed(1)
  values <- lapply(1:150, function(i) value(1))
  keys <- lapply(values, key)
  equal <- 0
  for (i in seq_along(values)) {
    for (j in seq_len(i - 1)) {
      same <- identical(values[[i]], values[[j]], num.eq = FALSE)
      equal <- equal + same
      if (same != identical(keys[[i]], keys[[j]])) fail(paste(deparse1(values[[i]]), "and", deparse1(values[[j]])))
    }
  }
  expect_gt(equal, 100)
})
