# What can be asked of the functions of a package that the generator has made: `families` of tests/packages, which
# scripts/test-r installs.
skip_if_not_installed("families")
families <- asNamespace("families")

test_that("one call, however it is written, is one program", {
  plus <- families$plus
  family_clear(plus)
  before <- family_stats(plus)
  x <- pjrt_buffer(c(1, 2), dtype = "f32")
  y <- pjrt_buffer(c(3, 4), dtype = "f32")
  calls <- list(plus(x, y), plus(x, y, 1L), plus(x, y, times = 1), plus(times = 1, y = y, x = x), plus(x, ti = 1, y))
  for (result in calls) expect_equal(as.vector(as_array(result)), c(4, 6))
  after <- family_stats(plus)
  expect_equal(after$compiles - before$compiles, 1)
  expect_equal(after$hits - before$hits, 4)
  expect_equal(after$entries, 1)
})

test_that("expect_no_compile() hears of families", {
  plus <- families$plus
  family_clear(plus)
  e <- expect_error(expect_no_compile(plus(c(1, 2), c(3, 4))), class = "pjrtdispatch_error")
  expect_identical(e$code, "compiled")
  expect_identical(e$message, "a program was compiled:\n* plus(): miss: nothing is compiled yet")
  expect_no_error(expect_no_compile(plus(c(5, 6), c(3, 4), times = 1)))
  e <- expect_error(expect_no_compile(plus(c(1, 2, 3), c(3, 4, 5))), class = "pjrtdispatch_error")
  expect_match(e$message, "plus(): miss: size 1 of `x` (n) is 3, the nearest entry has 2", fixed = TRUE)
  # Compiling ahead is a compile, too, and nobody hears of it afterwards.
  vector <- list(dtype = "f32", shape = 9)
  e <- expect_error(expect_no_compile(family_warm(plus, vector, vector)), class = "pjrtdispatch_error")
  expect_match(e$message, "plus(): miss: size 1 of `x` (n) is 9, the nearest entry has ", fixed = TRUE)
  expect_no_error(expect_no_compile(plus(1:9, 1:9)))
})

test_that("compiles of families are logged on request", {
  family_clear(families$plus)
  old <- options(pjrtdispatch.verbose = TRUE)
  on.exit(options(old))
  expect_message(families$plus(1, 2), "^pjrtdispatch: compiled in [0-9.]+ s, plus\\(\\): miss: nothing is compiled yet")
  expect_silent(families$plus(3, 4))
})

test_that("family_explain() says what is new", {
  axpy <- families$axpy
  family_clear(axpy)
  x <- c(1, 2, 3)
  expect_false(family_explain(axpy, x, x, 1)$hit)
  axpy(x, x, 1)
  expect_true(family_explain(axpy, scale = 2, x, x)$hit)
  why <- family_explain(axpy, pjrt_buffer(1, dtype = "f32", shape = 1L), 2, 1)
  expect_setequal(why$differences$part, c("dtype of `x`", "size 1 of `x` (n)"))
  expect_identical(why$differences$cached[why$differences$part == "dtype of `x`"], "f64")
  expect_identical(family_stats(axpy)$entries + 0, 1)
})

test_that("family_warm() compiles what the call then finds", {
  axpy <- families$axpy
  family_clear(axpy)
  vector <- list(dtype = "f32", shape = 4)
  expect_invisible(family_warm(axpy, vector, vector, list(dtype = "f32", shape = integer())))
  before <- family_stats(axpy)
  x <- pjrt_buffer(c(1, 2, 3, 4), dtype = "f32")
  expect_equal(as.vector(as_array(expect_no_compile(axpy(x, x, 2)))), c(3, 6, 9, 12))
  expect_equal(family_stats(axpy)$hits - before$hits, 1)
  e <- expect_error(family_warm(axpy, list(dtype = "f16", shape = 4), vector, 1), class = "pjrtdispatch_error")
  expect_match(e$message, "`x`")
  expect_identical(e$call[[1]], quote(family_warm))
})

test_that("a function prints what it takes and what it has", {
  family_clear(families$axpy)
  families$axpy(c(1, 2), c(3, 4), 1)
  shown <- format(families$axpy)
  expect_identical(shown[1:5], c(
    "<dispatch_family families::axpy>", "axpy(x, y, scale)", "  x      f32 or f64 (n)", "  y      dtype of x (n)",
    "  scale  dtype of x ()"
  ))
  expect_match(shown, "^1 program of at most 16, ", all = FALSE)
  expect_match(shown, "dtype of x size 1 of x \\(n\\)", all = FALSE)
  expect_match(shown, "f64 +2$", all = FALSE)
})

test_that("errors have the call of the user, whichever way it came", {
  e <- expect_error(families$axpy(1:2, "a", 1), class = "pjrtdispatch_error")
  expect_identical(e$argument, "y")
  expect_identical(e$call, quote(families$axpy(1:2, "a", 1)))
  e <- expect_error(family_explain(families$axpy, 1:2, "a", 1), class = "pjrtdispatch_error")
  expect_identical(e$call, quote(family_explain(families$axpy, 1:2, "a", 1)))
})

test_that("a function of a package that was unloaded says so, and does not load it", {
  out <- run_r(c(
    "axpy <- families::axpy",
    "unloadNamespace('families')",
    "print(axpy)",
    "for (ask in list(family_stats, family_clear, function(f) family_warm(f, 1, 2, 3), function(f) f(1, 2, 3))) {",
    "  cat(tryCatch(ask(axpy), error = function(e) e$code), '')",
    "}",
    "cat('families' %in% loadedNamespaces(), as.vector(as_array(families::axpy(1, 2, 3))))"
  ))
  expect_identical(out$out[1:2], c("<dispatch_family families::axpy>", "axpy(x, y, scale)"))
  expect_match(out$out[3], "the package of `axpy()` was unloaded", fixed = TRUE)
  expect_identical(out$out[4], "unloaded unloaded unloaded unloaded FALSE 5")
})
