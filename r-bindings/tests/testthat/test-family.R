# What the R side of families does with what a package tells of them. `told` is that; the functions of a package that was
# made by the generator are tested in test-families.R.
family_of <- function(f, told = list()) {
  asked <- list()
  env <- new.env(parent = topenv(environment(family_stats)))
  env$rs_family <- function(name, what, args) {
    env$asked <- list(name = name, what = what, args = args)
    told[[what]]
  }
  environment(f) <- env
  structure(f, class = "dispatch_family", family = "fit")
}
asked <- function(f) environment(f)$asked

# A family whose package raises an error whatever it is asked.
failing_family <- function(code, message) {
  f <- family_of(function(x) NULL)
  rs_family <- function(name, what, args) raise_(code, message, NULL)
  environment(rs_family) <- list2env(list(code = code, message = message), parent = environment(family_stats))
  environment(f)$rs_family <- rs_family
  f
}

local_width <- function(width, frame = parent.frame()) {
  old <- options(width = width)
  do.call(on.exit, list(substitute(options(old)), add = TRUE), envir = frame)
}

fit_told <- list(
  signature = list(
    argument = c("x", "params$w", "iterations"), static = c(FALSE, FALSE, TRUE), donated = c(FALSE, TRUE, FALSE),
    dtype = c("f32 or f64", "dtype of x", NA), shape = c("(m, k)", "(k)", NA),
    value = c(NA, NA, "a whole number from 0 to 255"), capacity = 64
  ),
  stats = list(hits = 10, misses = 2, compiles = 2, loads = 0, evictions = 0, entries = 2, bytes = 4096),
  entries = list(
    c("dtype of `x`" = "f64", "size 1 of `x` (m)" = "32", iterations = "25"),
    c("dtype of `x`" = "f32", "size 1 of `x` (m)" = "1000000", iterations = "2")
  )
)

none_done <- list(hits = 0, misses = 0, compiles = 0, loads = 0, evictions = 0, entries = 0, bytes = 0)

test_that("a family prints its signature and its programs", {
  local_width(80)
  expect_snapshot(print(family_of(function(x, params, iterations = 25L) NULL, fit_told)))
  expect_output(expect_invisible(print(family_of(function(x) NULL, fit_told))))
})

test_that("a family prints which arguments are written back", {
  told <- fit_told
  told$signature$written <- c(FALSE, TRUE, FALSE)
  printed <- format(family_of(function(x, params, iterations = 25L) NULL, told))
  expect_match(printed, "params$w    dtype of x (k), donated, written back", fixed = TRUE, all = FALSE)
  expect_identical(sum(grepl("written back", printed)), 1L)
})

test_that("a family without programs, and one with many, print what there is", {
  local_width(80)
  none <- list(
    signature = c(lapply(fit_told$signature[1:6], `[`, 1L), capacity = 2^63), entries = list(),
    stats = none_done
  )
  expect_snapshot(print(family_of(function(x) NULL, none)))
  many <- fit_told
  many$entries <- lapply(1:25, function(n) c(n = as.character(n)))
  many$stats$entries <- 25
  shown <- format(family_of(function(x, n) NULL, many))
  expect_equal(tail(shown, 1), "... and 15 more programs")
  expect_match(tail(shown, 2)[1], "^10 +10")
})

test_that("long signatures and tables are wrapped", {
  local_width(60)
  wide <- fit_told
  wide$entries <- list(setNames(as.character(1:12), paste("size", 1:12, "of `weights`")))
  wide$stats$entries <- 1
  f <- function(weights, offset, family = "binomial", iterations = 25L, tolerance = 1e-08, text = "a\"b") NULL
  shown <- format(family_of(f, wide))
  expect_true(all(nchar(shown) <= 60))
  expect_snapshot(writeLines(shown))
  expect_equal(format(family_of(function() NULL, list(signature = list(capacity = 1), stats = none_done, entries = list())))[[2]], "fit()")
})

test_that("what cannot be told is said, and the function still prints", {
  f <- failing_family("detached", "the package is not loaded")
  expect_equal(tail(format(f), 2), c("fit(x)", "the package is not loaded"))
})

test_that("arguments are matched as in a call", {
  f <- family_of(function(x, params, iterations = c(2L, 3L)) NULL, list(explain = list(hit = TRUE, message = "hit")))
  all <- list(x = 1, params = list(w = 2), iterations = c(2L, 3L))
  family_explain(f, 1, list(w = 2))
  expect_identical(asked(f), list(name = "fit", what = "explain", args = all))
  family_explain(f, params = list(w = 2), 1)
  expect_identical(asked(f)$args, all)
  # As R matches: by a part of the name.
  family_explain(f, it = NULL, 1, p = list(w = 2))
  expect_identical(asked(f)$args, list(x = 1, params = list(w = 2), iterations = NULL))
  family_explain(f, quote(a + b), as.name("x"))
  expect_identical(asked(f)$args$x, quote(a + b))
})

test_that("an argument of the family may be named as ours", {
  f <- family_of(function(f, x, what, args, name) NULL)
  expect_identical(family_warm(f, f = 1, x = 2, what = 3, args = 4, name = 5), f)
  expect_identical(asked(f)$args, list(f = 1, x = 2, what = 3, args = 4, name = 5))
  family_warm(f, 1, 2, 3, 4, 5)
  expect_identical(unname(asked(f)$args), list(1, 2, 3, 4, 5))
})

test_that("arguments that do not fit are errors that name them", {
  f <- family_of(function(x, n = 2L) NULL)
  e <- expect_error(family_warm(f), class = "pjrtdispatch_error")
  expect_equal(e$message, "argument `x`: it is missing, and has no default")
  expect_equal(e$argument, "x")
  expect_equal(e$call, quote(family_warm(f)))
  e <- expect_error(family_explain(f, 1, 2, 3), class = "pjrtdispatch_error")
  expect_equal(e$message, "unused argument number 3: `fit()` has `x`, `n`")
  expect_equal(e$call, quote(family_explain(f, 1, 2, 3)))
  e <- expect_error(family_explain(f, 1, q = runif(1e5)), class = "pjrtdispatch_error")
  expect_equal(e$message, "unused argument `q`: `fit()` has `x`, `n`")
  e <- expect_error(family_explain(f, x = 1, x = 2), class = "pjrtdispatch_error")
  expect_match(e$message, "matched by multiple actual arguments")
  e <- expect_error(family_explain(family_of(function() NULL), 1), class = "pjrtdispatch_error")
  expect_equal(e$message, "unused argument number 1: `fit()` has no arguments")
  e <- expect_error(family_explain(family_of(function(...) NULL), 1), class = "pjrtdispatch_error")
  expect_equal(e$message, "argument `f`: expected a function as the generator makes it, got one with `...`")
})

test_that("what is no family is an error", {
  for (wrong in list(sum, function(x) x, 1, NULL, structure(list(), class = "dispatch_family", family = "fit"))) {
    for (ask in list(family_stats, family_clear, family_explain, family_warm)) {
      e <- expect_error(ask(wrong), class = "pjrtdispatch_error")
      expect_match(e$message, "argument `f`: expected a function of class dispatch_family, got ")
      expect_equal(e$argument, "f")
    }
  }
  e <- expect_error(family_stats(structure(function(x) x, class = "dispatch_family")), class = "pjrtdispatch_error")
  expect_match(e$message, "argument `f`: expected a function of a package of families, .* `family`, got one without$")
  e <- expect_error(family_stats(structure(list(), class = "dispatch_family")), class = "pjrtdispatch_error")
  expect_match(e$message, "expected a function of class dispatch_family, got a list of length 0")
  moved <- family_of(function(x) x)
  environment(moved) <- globalenv()
  e <- expect_error(family_stats(moved), class = "pjrtdispatch_error")
  expect_equal(e$message, "argument `f`: `fit` has not the environment of its package")
  expect_match(format(moved), "has not the environment", all = FALSE)
})

test_that("the numbers and the explanation are those that the package tells", {
  explain <- list(hit = FALSE, message = "miss: n", part = "n", now = "2", cached = NA_character_)
  f <- family_of(function(x) NULL, c(fit_told, list(explain = explain)))
  expect_identical(family_stats(f), fit_told$stats)
  told <- family_explain(f, 1)
  expect_s3_class(told, "DispatchExplanation")
  expect_identical(told$differences, data.frame(part = "n", now = "2", cached = NA_character_))
  expect_invisible(family_clear(f))
  expect_identical(asked(f)$what, "clear")
})

test_that("an error of a family has the call by which the user came in", {
  f <- failing_family("value", "argument `x`: no")
  e <- expect_error(family_warm(f, 1), class = "pjrtdispatch_error")
  expect_equal(e$call, quote(family_warm(f, 1)))
})
