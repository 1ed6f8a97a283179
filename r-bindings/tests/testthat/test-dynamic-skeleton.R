twice_of <- function(capacity = 4, built = function(inputs) NULL) {
  dynamic_skeleton(function(inputs) {
    built(inputs)
    x <- inputs[[1]]
    type <- sprintf("tensor<%s>", paste(c(x$shape, sub("bool", "i1", x$dtype)), collapse = "x"))
    pjrt_skeleton(sprintf("func.func @main(%%x: %1$s) -> %1$s { %%y = stablehlo.add %%x, %%x : %1$s\nreturn %%y : %1$s }", type), inputs)
  }, capacity)
}
fixed <- pjrt_skeleton("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
stats <- function(d) unlist(skeleton_stats(d)[c("hits", "misses", "compiles", "evictions", "entries")], use.names = FALSE)

test_that("a skeleton is built for each layout, once", {
  seen <- list()
  d <- twice_of(built = function(inputs) seen <<- c(seen, list(inputs)))
  expect_identical(as.vector(as_array(run(d, c(1, 2)))), c(2, 4))
  expect_identical(as.vector(as_array(run(d, c(3, 4)))), c(6, 8))
  expect_identical(as_array(run(d, matrix(1:4, 2))), matrix(2L * 1:4, 2))
  expect_identical(as_array(run(d, 1.5)), 3)
  expect_identical(as.vector(as_array(run(d, pjrt_buffer(c(1, 2), "f64")))), c(2, 4))
  expect_identical(seen, list(
    list(list(dtype = "f64", shape = 2L)), list(list(dtype = "i32", shape = c(2L, 2L))), list(list(dtype = "f64", shape = integer()))
  ))
  expect_identical(stats(d), c(2L, 3L, 3L, 0L, 3L))
  expect_identical(skeleton_clear(d), d)
  expect_identical(stats(d)[5], 0L)
  run(d, c(1, 2))
  expect_length(seen, 4L)
})

test_that("over the capacity the one goes that was not used for longest", {
  d <- twice_of(2)
  for (n in c(1, 2, 1, 3)) run(d, seq_len(n) + 0)
  expect_identical(stats(d), c(1L, 3L, 3L, 1L, 2L))
  run(d, 1)
  expect_identical(stats(d)[1:2], c(2L, 3L))
  run(d, c(1, 2))
  expect_identical(stats(d)[2], 4L)
})

test_that("R's data is uploaded without loss", {
  d <- dynamic_skeleton(function(inputs) stop(inputs[[1]]$dtype, " of rank ", length(inputs[[1]]$shape)), 1)
  said <- function(x) conditionMessage(condition_of(run(d, x)))
  expect_identical(said(1.5), "f64 of rank 0")
  expect_identical(said(1:2), "i32 of rank 1")
  expect_identical(said(TRUE), "bool of rank 0")
  expect_identical(said(matrix(1i)), "c128 of rank 2")
  expect_identical(said(bit64::as.integer64(1:3)), "i64 of rank 1")
  expect_fault(run(d, NA), "value", "argument `...[[1]]`: expected no missing values, which bool does not hold", "...[[1]]")
  expect_fault(run(d, 1, c(1L, NA)), "value", "argument `...[[2]]`: expected no missing values", "...[[2]]")
  expect_fault(run(d, "a"), "type", "argument `...[[1]]`: expected an AnvlArray", "...[[1]]")
})

test_that("what is wrong with the inputs or the function is an error, and nothing is kept", {
  run_by <- function(build, ...) run(dynamic_skeleton(build, 2), ...)
  expect_fault(run_by(function(i) fixed, x = 1:4), "argument", "unused argument `x`: the inputs of a dynamic skeleton are given in order")
  expect_fault(run_by(function(i) NULL, 1), "type", "argument `build`: expected a function that gives what pjrt_skeleton() makes, got NULL", "build")
  expect_fault(run_by(function(i) pjrt_client(), 1), "type", "got a PJRTClient", "build")
  expect_fault(run_by(function(i) unserialize(serialize(fixed, NULL)), 1), "dead", "from another session", "build")
  expect_fault(run_by(function(i) fixed, 1), "program", "must take `x` as tensor<f64>, which it was built for, it takes tensor<4xf32>")
  expect_fault(run_by(function(i) fixed, 1, 2), "program", "the program of the dynamic skeleton must take 2 arguments, it takes 1")
  elsewhere <- pjrt_skeleton("func.func @main(%x: tensor<f64>) -> tensor<f64> { return %x : tensor<f64> }", device = "cpu:1")
  expect_fault(run_by(function(i) elsewhere, 1), "program", "must run on cpu:0, it runs on cpu:1")
  expect_fault(run_by(function(i) fixed, pjrt_scalar(1, device = "cpu:1")), "device", "argument `...[[1]]`: expected an array on cpu:0, got one on cpu:1")
  expect_identical(as.vector(as_array(run_by(function(i) fixed, pjrt_buffer(c(1, 2, 3, 4))))), c(1, 2, 3, 4))

  expect_fault(dynamic_skeleton(1, 2), "type", "argument `build`: expected a function, got a double value", "build")
  expect_fault(dynamic_skeleton(identity, 0), "value", "argument `capacity`: expected a number from 1 on, got 0", "capacity")
  expect_fault(dynamic_skeleton(identity, NA), "type", "argument `capacity`", "capacity")
  expect_fault(skeleton_stats(fixed), "type", "argument `x`: expected a PJRTDynamicSkeleton, got a PJRTSkeleton", "x")

  # An error of the function arrives as it is, and the next call tries again.
  fails <- TRUE
  d <- twice_of(built = function(inputs) if (fails) stop(structure(class = c("mine", "error", "condition"), list(message = "no", call = NULL))))
  expect_s3_class(condition_of(run(d, 1)), "mine")
  expect_identical(stats(d), c(0L, 1L, 0L, 0L, 0L))
  fails <- FALSE
  expect_identical(as_array(run(d, 1)), 2)
})

test_that("the function may leave in any way, and run other skeletons but not the run it is called for", {
  d <- dynamic_skeleton(function(inputs) invokeRestart("out", inputs[[1]]$dtype), 2)
  expect_identical(withRestarts(run(d, 1), out = identity), "f64")
  run_from <- function() {
    d <- dynamic_skeleton(function(inputs) return(NULL), 1)
    tryCatch(run(d, 1), pjrtdispatch_error = function(e) "refused")
  }
  expect_identical(run_from(), "refused")
  depth <- 0
  d <- twice_of(built = function(inputs) {
    depth <<- max(depth, length(inputs[[1]]$shape))
    if (length(inputs[[1]]$shape) < 3L) run(d, array(0, c(inputs[[1]]$shape, 1)))
  })
  expect_identical(as_array(run(d, 1)), 2)
  expect_identical(c(depth, stats(d)[5]), c(3, 4))
  d <- dynamic_skeleton(function(inputs) run(d, 1), 2)
  expect_fault(run(d, 1), "recursive", "the dynamic skeleton is asked for the program that it is compiling at this moment: input 1 = f64[]")
  expect_identical(stats(d)[3:5], c(0L, 0L, 0L))
})

test_that("builds are logged with their reason, and seen by expect_no_compile()", {
  d <- twice_of()
  run(d, 1)
  expect_fault(expect_no_compile(run(d, c(1, 2))), "compiled", "dynamic skeleton: miss: input 1 is f64[2], the nearest entry has f64[]")
  expect_identical(as.vector(as_array(expect_no_compile(run(d, c(1, 2))))), c(2, 4))
  old <- options(pjrtdispatch.verbose = TRUE)
  on.exit(options(old))
  messages <- testthat::capture_messages(run(d, c(1, 2, 3)))
  expect_length(messages, 1L)
  expect_match(messages, "^pjrtdispatch: built in [0-9.]+ s, dynamic skeleton: miss: input 1 is f64\\[3\\]")
})

test_that("a dynamic skeleton prints what it has", {
  d <- twice_of(1)
  expect_identical(format(d), "<PJRTDynamicSkeleton: 0 of 1 skeleton, 0 hits, 0 misses>")
  d <- twice_of(12)
  for (n in 1:11) run(d, seq_len(n))
  out <- capture.output(expect_invisible(print(d)))
  expect_identical(out[c(1, 2, 11, 12)], c("<PJRTDynamicSkeleton: 11 of 12 skeletons, 0 hits, 11 misses>", "  (i32[11])", "  (i32[2])", "... and 1 more skeleton"))
})

test_that("one that its own function refers to is collected", {
  collected <- 0
  make <- function() {
    d <- twice_of()
    mark <- new.env()
    reg.finalizer(mark, function(e) collected <<- collected + 1)
    d <- dynamic_skeleton(function(inputs) list(d, mark), 2)
    invisible()
  }
  for (i in 1:3) make()
  gc()
  expect_gte(collected, 2)
})

test_that("whatever is wrong with what a converter gives, it is named", {
  d <- twice_of()
  object <- structure(list(), class = "converted")
  gives <- function(value) with_converter("converted", function(x, expected) value, run(d, object))
  named <- ", given by the converter `a converter for converted`"
  expect_identical(as.vector(as_array(gives(c(1, 2)))), c(2, 4))
  expect_fault(gives(plain_array(1)), "type", paste0("got one of backend \"plain\"", named), "...[[1]]")
  expect_fault(gives(c(1L, NA)), "value", named, "...[[1]]")
  expect_fault(with_converter("converted", function(x, expected) plain_array(1), pjrt_buffer(object)), "type", named, "data")
  s <- pjrt_skeleton("func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }")
  expect_fault(with_converter("converted", function(x, expected) plain_array(1), run(s, object)), "type", named)
})
