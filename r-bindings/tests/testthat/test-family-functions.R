# The functions of families as the generator makes them: `families` of tests/packages, which scripts/test-r installs. It
# has its own copy of the runtime.

skip_if_not_installed("families")
families <- asNamespace("families")
values <- function(x) as.vector(as_array(if (inherits(x, "AnvlArray")) x$data else x))
kind <- function(x) paste0(x$dtype, "[", paste(x$shape, collapse = ","), "]")
f32 <- function(x) pjrt_buffer(x, "f32")

test_that("an array is an AnvlArray, a buffer, or R data of the declared rank", {
  x <- c(1, 2, 3)
  for (given in list(anvl(x, "f32"), f32(x), x, 1:3, array(x, 3L))) {
    expect_identical(values(families$plus(given, f32(x))), c(2, 4, 6))
  }
  # Of length 1 it is a vector where the rank is 1, else a scalar.
  expect_identical(kind(families$same_vector(5)), "f64[1]")
  expect_identical(kind(families$next_integer(5L)), "i32[]")
  expect_identical(kind(families$next_integer(array(5L, 1L))), "i32[1]")
  expect_identical(kind(families$next_integer(1:2)), "i32[2]")
  expect_identical(kind(families$same_vector(double())), "f64[0]")
  expect_identical(values(families$axpy(x, x, 2)), c(3, 6, 9))
  expect_fault(families$axpy(x, x, c(1, 2)), "shape", "argument `scale`: expected shape [], got [2]", "scale")
  expect_fault(families$same_matrix(1:3), "shape", "argument `x`: expected shape [_,_], got [3]", "x")
  expect_fault(families$same_vector(matrix(1:4, 2)), "shape", "argument `x`: expected shape [n], got [2,2]", "x")
})

test_that("R data goes up in R's order, at the dtype that the declaration says", {
  m <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  a <- families$same_matrix(m)
  expect_identical(kind(a), "f32[2,3]")
  expect_identical(as_array(a$data), m)
  expect_identical(kind(families$same_vector(c(1, 2))), "f64[2]")
  expect_identical(kind(families$same_vector(1:2)), "i32[2]")
  expect_identical(kind(families$same_vector(c(TRUE, FALSE))), "bool[2]")
  expect_identical(kind(families$same_matrix(matrix(1:4, 2))), "f32[2,2]")
  expect_identical(kind(families$same_matrix(matrix(1i, 1, 1))), "c128[1,1]")
  # The first array on a device says it for its group.
  expect_identical(kind(families$axpy(1:2, f32(c(1, 2)), 3)), "f32[2]")
  expect_identical(kind(families$axpy(c(1, 2), c(1, 2), f32(3) |> as_array() |> as.vector() |> pjrt_scalar("f32"))), "f32[2]")
  wide <- structure(array(c(1, 2), c(1L, 2L)), class = "integer64")
  expect_identical(kind(families$same_matrix(wide)), "i64[1,2]")
})

test_that("what a dtype does not hold is an error that names the argument", {
  x <- f32(c(1, 2))
  expect_identical(values(families$plus(x, c(1L, NA))), c(2, NaN))
  expect_identical(values(families$plus(x, c(1, NA))), c(2, NaN))
  expect_fault(families$next_integer(c(1L, NA)), "value", "NA as element 2", "x")
  expect_fault(families$next_integer(c(1, 1.5)), "value", "1.5 as element 2", "x")
  expect_fault(families$next_integer(pjrt_buffer(1:2) |> (\(x) 3e9)()), "value", "argument `x`", "x")
  expect_fault(families$plus(x, c(1, 1e300)), "value", "argument `y`", "y")
  expect_fault(families$plus(x, c(TRUE, FALSE)), "dtype", "argument `y`: expected real numbers, for dtype f32, got logical data", "y")
  expect_fault(families$plus(x, c(1i, 2i)), "dtype", "got complex data", "y")
  expect_fault(families$plus(x, c("a", "b")), "type", "got a character vector of length 2", "y")
  expect_fault(families$plus(x, NULL), "type", "got NULL", "y")
  expect_fault(families$plus(x, list(1, 2)), "type", "argument `y`: expected an AnvlArray, a PJRTBuffer", "y")
  expect_fault(families$plus(x, structure(1:2, class = "thing")), "type", "got a thing", "y")
  expect_fault(families$plus(x, pjrt_buffer(1:2)), "dtype", "argument `y`: expected dtype f32", "y")
  plain <- structure(list(data = 1, backend = "plain"), class = "AnvlArray")
  expect_fault(families$plus(x, plain), "type", "argument `y`: expected an AnvlArray of backend \"pjrt\"", "y")
  hollow <- structure(list(data = 1, backend = "pjrt"), class = "AnvlArray")
  expect_fault(families$plus(x, hollow), "type", "argument `y$data`: expected a PJRTBuffer", "y$data")
  gone <- f32(c(1, 2))
  release(gone)
  expect_fault(families$plus(x, gone), "dead", "got one that was released", "y")
  condition <- expect_fault(families$plus(x, "a"), "type", "argument `y`", "y")
  expect_identical(condition$call, quote(families$plus(x, "a")))
  # None of them has compiled anything.
  family_clear(families$next_integer)
  try(families$next_integer(c(1L, NA)), silent = TRUE)
  expect_identical(family_stats(families$next_integer)$entries, 0L)
})

test_that("a static argument takes values of its type and nothing else", {
  of <- function(...) values(families$statics(0, ...))
  usual <- c(1, 1, 2, 0.5, 0.25, 1, -1, 5, 10, 0)
  expect_identical(of(), usual)
  expect_identical(of(FALSE, 255, -3, 2L, 1, "abc", 7, c(3, 4), 2:3, "cauchy_log"), c(0, 255, -3, 2, 1, 3, 7, 11, 32, 1))
  expect_identical(of(limit = NULL, sizes = integer(), name = ""), replace(usual, c(6, 8), c(0, 0)))
  expect_identical(of(rate = NaN)[4], NaN)
  expect_identical(of(count = structure(4.94065645841247e-324, class = "integer64"))[3], 1)
  bad <- list(
    flag = list(NA, 1, "TRUE", c(TRUE, FALSE), NULL), byte = list(256, -1, 1.5, NA, NaN, Inf, TRUE, "1", NULL, 1:2),
    count = list(2^53, -2^53, 1e300, 0.1, NA_integer_, NA_real_, Inf, list(1)), rate = list(NA_real_, "1", TRUE, NULL),
    single = list(1e300, NA_real_), name = list(1, NA_character_, c("a", "b"), NULL), limit = list(65536, NA, "a"),
    sizes = list(NULL, c(1, NA), c(1, 1.5), "a", matrix(1:4, 2)), range = list(1, c(1, 2, 3), NULL),
    link = list("Logit", "", NA_character_, 1, NULL, factor("logit"))
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      expect_fault(
        do.call(families$statics, c(list(0), stats::setNames(list(value), name))), "value",
        sprintf("argument `%s`: expected ", name), name
      )
    }
  }
  expect_fault(of(sizes = c(1, 1.5)), "value", "as element 2, got 1.5", "sizes")
  for (wrong in list(character(), logical())) {
    expect_fault(of(sizes = wrong), "value", "expected a vector, each element a whole number from", "sizes")
  }
  expect_identical(of(sizes = double())[8], 0)
  # Bytes that the encoding does not have are not another string.
  invalid <- "b\xe4"
  expect_fault(of(name = invalid), "value", "expected a string, got a string that is not valid in its encoding", "name")
  expect_fault(of(name = `Encoding<-`(invalid, "UTF-8")), "value", "got a string that is not valid in its enc", "name")
  expect_fault(of(name = `Encoding<-`(invalid, "bytes")), "value", "got a string of bytes without an encoding", "name")
  expect_identical(of(name = `Encoding<-`(invalid, "latin1")), of(name = "b\u00e4"))
  expect_fault(of(link = "probit"), "value", "expected one of \"logit\", \"cauchy_log\", got \"probit\"", "link")
  expect_fault(of(byte = 300), "value", "expected a whole number from 0 to 255, got 300", "byte")
})

test_that("every spelling of a call is one entry, and another rank is another", {
  f <- families$plus
  x <- f32(c(1, 2))
  family_clear(f)
  before <- family_stats(f)$compiles
  f(x, x)
  f(x, x, 1)
  f(x, x, 1L)
  f(x, times = 1, y = x)
  f(times = 1L, x = x, y = x)
  expect_identical(family_stats(f)$compiles - before, 1L)
  f(x, x, times = 2)
  expect_identical(family_stats(f)$compiles - before, 2L)
  g <- families$sum_of
  before <- family_stats(g)$compiles
  expect_identical(values(g(1, y = 2)), 3)
  expect_identical(values(g(1, y = c(2, 2))), 5)
  expect_identical(values(g(2, y = 3)), 5)
  expect_identical(family_stats(g)$compiles - before, 2L)
})

test_that("structs are named lists in any order, and lists are lists", {
  net <- list(layer = list(w = matrix(1:4, 2), b = c(1, 1)), scales = list(1, f32(array(2)) |> (\(x) 2)()), pair = list(c(1, 2), 3))
  parts <- c(10, 2, 13, 3, 3)
  expect_identical(values(families$parts_of(net, 10)), parts)
  net$layer <- rev(net$layer)
  expect_identical(values(families$parts_of(rev(net), 10)), parts)
  on_device <- net
  on_device$layer <- list(b = anvl(c(1, 1), "f64"), w = anvl(matrix(c(1, 2, 3, 4), 2), "f64"))
  expect_identical(values(families$parts_of(on_device, 10)), parts)
  # Data takes the dtype of the array in its group.
  on_device$layer$w <- matrix(1:4, 2)
  expect_identical(values(families$parts_of(on_device, 10)), parts)
  wrong <- function(change, code, message, argument) {
    changed <- change(net)
    expect_fault(families$parts_of(changed, 10), code, message, argument)
  }
  wrong(\(n) n["layer"], "type", "expected a list with the elements `layer`, `scales`, `pair`, got one without `scales`", "net")
  wrong(\(n) c(n, more = 1), "type", "got one with `more` too", "net")
  wrong(\(n) unname(n), "type", "got a list of length 3 without names", "net")
  wrong(\(n) stats::setNames(n, c("layer", "scale", "pair")), "type", "got one with `scale` and without `scales`", "net")
  wrong(\(n) 1, "type", "got a double value", "net")
  wrong(\(n) replace(n, "layer", list(list(w = 1))), "type", "expected a list with the elements `w`, `b`", "net$layer")
  wrong(\(n) replace(n, "pair", list(list(1))), "type", "expected a list of 2 arrays, got one of length 1", "net$pair")
  wrong(\(n) replace(n, "scales", list(1)), "type", "expected a list of arrays, got a double value", "net$scales")
  wrong(\(n) replace(n, "scales", list(list(1, "a"))), "type", "argument `net$scales[[2]]`", "net$scales[[2]]")
  wrong(\(n) replace(n, "scales", list(list(1, c(1, 2)))), "shape", "argument `net$scales[[2]]`", "net$scales[[2]]")
  expect_identical(values(families$sum_list(list(c(1, 2), c(3, 4)), list(c(5, 6), 7:8))), c(16, 20))
  expect_identical(kind(families$sum_list(list(f32(c(1, 2))), list(1:2, 1:2))), "f32[2]")
})

test_that("results have the declared structure", {
  step <- families$take_step(c(1, 2))
  expect_named(step, c("coef", "trace", "type"))
  expect_named(step$trace, "all")
  expect_identical(lapply(step$trace$all, values), list(c(2, 3), c(3, 4)))
  expect_identical(list(values(step$coef), values(step$type), kind(step$type)), list(c(1, 2), 3, "f32[]"))
  twice <- families$twice(c(1, 2))
  expect_identical(list(names(twice), values(twice[[1]]), values(twice[[2]][[1]])), list(NULL, c(2, 3), 3))
  one <- families$plus(1:2, 1:2)
  expect_identical(class(one), "AnvlArray")
  expect_identical(names(one), c("data", "dtype", "shape", "device", "backend"))
  expect_identical(one$device, pjrt_device("cpu:0"))
  expect_s3_class(one$dtype, "DataType")
})

test_that("64 arguments are taken in order", {
  given <- lapply(1:64, function(i) c(i, -i))
  expect_identical(values(do.call(families$many, given)), c(2080, -2080))
  given[[64]] <- 1
  expect_fault(do.call(families$many, given), "shape", "argument `a64`", "a64")
})

test_that("a donated argument is gone, and only if the call went well", {
  x <- f32(c(1, 2))
  expect_fault(families$doubled("a"), "type", "argument `x`", "x")
  expect_identical(values(families$doubled(x)), c(2, 4))
  expect_fault(families$doubled(x), "donated", "argument `x`", "x")
  expect_fault(as_array(x), "donated", "donated")
  expect_identical(values(families$doubled(c(1, 2))), c(2, 4))
})

test_that("arrays run where they are, and what is fixed is copied", {
  there <- pjrt_buffer(c(1, 2), "f32", device = "cpu:1")
  expect_identical(families$plus(there, there)$device, pjrt_device("cpu:1"))
  expect_identical(families$plus(there, c(1, 2))$device, pjrt_device("cpu:1"))
  expect_fault(families$plus(there, f32(c(1, 2))), "device", "argument `y`", "y")
  moved <- families$on_first(there, f32(c(1, 1)))
  expect_identical(list(moved$device, values(moved)), list(pjrt_device("cpu:0"), c(0, 1)))
})

test_that("what goes wrong in a body is an error of the call, and the next one goes on", {
  f <- families$wayward
  expect_fault(f(1, "fail"), "body", "the body has no program for this")
  expect_fault(f(1, "panic"), "panic", "the body panicked")
  expect_identical(values(f(c(1, 2), "call_another")), c(3, 6))
  expect_identical(family_stats(f)$entries, 1L)
  absent <- "`never()` is not part of this build of its package: a `#[cfg]` leaves it out"
  expect_fault(families$never(1), "absent", absent)
  expect_fault(family_stats(families$never), "absent", absent)
  expect_fault(family_explain(families$never, 1), "absent", absent)
  expect_identical(format(families$never), c("<dispatch_family families::never>", "never(x)", absent))
})

test_that("static values are told as R writes them", {
  f <- families$statics
  family_clear(f)
  f(0)
  f(0, FALSE, count = 2^40, limit = 3, sizes = 5, range = c(1.5, NaN), link = "cauchy_log", name = "a\"b")
  parts <- families$rs_family("statics", "entries", NULL)[[1]]
  expected <- c(
    flag = "FALSE", byte = "1", count = "1099511627776", rate = "0.5", single = "0.25", name = "\"a\\\"b\"", limit = "3",
    sizes = "5", range = "c(1.5, NaN)", link = "\"cauchy_log\""
  )
  expect_identical(parts[sprintf("`%s`", names(expected))], stats::setNames(expected, sprintf("`%s`", names(expected))))
  # A row is a call.
  call <- as.call(c(quote(f), 0, lapply(expected, str2lang)))
  expect_true(eval(as.call(c(quote(family_explain), as.list(call))))$hit)
  shown <- format(f)
  expect_match(shown, "static: TRUE or FALSE", fixed = TRUE, all = FALSE)
  expect_match(shown, "static: NULL or a whole number from 0 to 65535", fixed = TRUE, all = FALSE)
  expect_match(shown, "static: a vector, each element a whole number from", fixed = TRUE, all = FALSE)
  expect_match(shown, "static: one of \"logit\", \"cauchy_log\"", fixed = TRUE, all = FALSE)
  family_clear(f)
  f(0)
  why <- family_explain(f, 0, link = "cauchy_log", limit = 1)
  expect_identical(
    why$message, "miss: `limit` is 1, the nearest entry has NULL; `link` is \"cauchy_log\", the nearest entry has \"logit\""
  )
})

test_that("what describes an array for a program is checked by its place", {
  warm <- function(x) family_warm(families$same_vector, x)
  expect_fault(warm(list(dtype = "f46", shape = 3L)), "unknown_dtype", "argument `x$dtype`", "x$dtype")
  expect_fault(warm(list(dtype = "f32", shape = "a")), "type", "argument `x$shape`", "x$shape")
  expect_fault(warm(list(dtype = "f32", shape = -1)), "value", "argument `x$shape`", "x$shape")
  described <- "argument `x`: expected list(dtype =, shape =) to describe an array, got "
  expect_fault(warm(list(dtype = "f32", shape = 2, foo = 1)), "value", paste0(described, "a list of length 3"), "x")
  expect_fault(warm(list(shape = 3L)), "value", paste0(described, "one without `dtype`"), "x")
  expect_fault(warm(list(dtype = "f32")), "value", paste0(described, "one without `shape`"), "x")
  pair <- list(list(dtype = "f32", shape = 2), list(dtype = "f23", shape = 2))
  expect_fault(family_warm(families$sum_list, list(), pair), "unknown_dtype", "argument `pair[[2]]$dtype`", "pair[[2]]$dtype")
})

test_that("a family tells what it has", {
  f <- families$sum_of
  family_clear(f)
  expect_identical(family_stats(f)$entries, 0L)
  expect_false(family_explain(f, 1, 2)$hit)
  family_warm(f, list(dtype = "f32", shape = 2), list(dtype = "f32", shape = integer()))
  expect_true(family_explain(f, f32(c(1, 2)), 1)$hit)
  expect_match(format(family_explain(f, f32(c(1, 2, 3)), 1)), "leading shape of `x`", all = FALSE)
  expect_no_compile(f(f32(c(3, 4)), 5))
  expect_output(print(f), "any (..)", fixed = TRUE)
  expect_output(print(families$parts_of), "net$layer$b", fixed = TRUE)
  expect_fault(families$rs_family("nothing", "stats", NULL), "value", "a family of this package", "name")
})

test_that("an interrupted compile goes on, and the next call takes its result", {
  skip_on_os("windows")
  f <- families$slow
  x <- matrix(1, 2, 2)
  seconds <- function(expr) system.time(expr)[["elapsed"]]
  # So many steps that the compile can be interrupted in the middle.
  each <- seconds(f(x, steps = 100)) / 100
  steps <- as.integer(max(101, 1.5 / each))
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  interrupted <- tryCatch(
    {
      f(x, steps = steps)
      Sys.sleep(5)
      FALSE
    },
    interrupt = function(e) TRUE
  )
  expect_true(interrupted)
  expect_identical(family_stats(f)$entries, 1L)
  Sys.sleep(2 * each * steps)
  expect_lt(seconds(last <- f(x, steps = steps)), each * steps / 2)
  expect_identical(kind(last), "f32[2,2]")
  expect_identical(family_stats(f)$entries, 2L)
})

test_that("a family goes with its package and comes back with it", {
  out <- run_r(c(
    "f <- families::plus; x <- f(c(1, 2), c(3, 4))",
    "unloadNamespace('families')",
    "cat(tryCatch(f(x, x), pjrtdispatch_error = function(e) e$code), '')",
    "cat(as_array(x$data), as_array(families::plus(x, x)$data), as_array(f(x, x)$data), '')",
    # What was counted went with the package.
    "cat(unlist(pjrtdispatch::family_stats(families::plus)[c('hits', 'misses', 'compiles', 'entries')]))"
  ))
  expect_identical(out[c("out", "status")], list(out = "unloaded 4 6 8 12 8 12 1 1 1 1", status = 0L))
})

test_that("loading a package of families starts nothing", {
  out <- run_r("invisible(loadNamespace('families')); cat(pjrtdispatch:::rs_client_exists('cpu'))")
  expect_identical(out[c("out", "status")], list(out = "FALSE", status = 0L))
})

test_that("no buffer is lost, and nothing is collected while it is in use", {
  x <- f32(c(1, 2))
  families$take_step(x)
  gc()
  before <- rs_live_bytes()
  for (i in 1:300) {
    families$take_step(x)
    try(families$plus(x, "a"), silent = TRUE)
  }
  gc()
  expect_identical(rs_live_bytes(), before)
  expect_same_when_tortured(function() {
    step <- families$take_step(c(1, 2))
    list(
      values(step$trace$all[[2]]), values(families$plus(x, 1:2)), values(families$statics(0, name = "ab")),
      condition_of(families$plus(x, "a"))$argument
    )
  })
})
