test_that("an error is a condition with a code, the argument and the user's call", {
  mine <- function(x) pjrt_device(x)
  condition <- expect_fault(mine(3), "type", "argument `device`: expected a PJRTDevice or the name", "device")
  expect_identical(condition$call, quote(pjrt_device(x)))
  # An argument is evaluated late, but the call is the user's own.
  expect_identical(condition_of(elt_type(pjrt_buffer("a")))$call, quote(pjrt_buffer("a")))
  callback <- function() lapply(3, function(x) pjrt_client(x))
  expect_identical(condition_of(callback())$call, quote(pjrt_client(x)))
})

test_that("a panic is an error that tells its text and its place", {
  condition <- expect_fault(rs_panic("a law was broken"), "panic", "internal error: a law was broken (at ")
  expect_match(conditionMessage(condition), "session.rs:[0-9]+:[0-9]+\\)$")
  expect_null(condition$argument)
  expect_s3_class(pjrt_device("cpu"), "PJRTDevice")
})

test_that("many errors need no memory, also where warnings are errors", {
  old <- options(warn = 2)
  on.exit(options(old))
  wrong <- function() tryCatch(pjrt_device(3), error = function(e) e$code)
  wrong()
  before <- gc()[, 1]
  for (i in 1:10000) wrong()
  after <- gc()[, 1]
  expect_lt(after[["Ncells"]] - before[["Ncells"]], 20000)
})

test_that("a forked process gets an error at once, and the parent goes on", {
  skip_on_os("windows")
  pjrt_client("cpu")
  child <- parallel::mcparallel(tryCatch(pjrt_device("cpu"), error = identity))
  condition <- parallel::mccollect(child)[[1]]
  expect_identical(condition$code, "forked")
  expect_s3_class(pjrt_device("cpu"), "PJRTDevice")
})

test_that("a missing argument is told in the user's call", {
  for (call in expression(as_array(), dtype(), await(), is_ready(), value(), platform(), release(), elt_type())) {
    condition <- expect_fault(eval(call), "type", ", got none", "x")
    expect_identical(condition$call, call)
  }
})

test_that("an error of an object in a list ends the printing of the list", {
  old <- options(pjrt.print_max_rows = "many")
  on.exit(options(old))
  x <- pjrt_buffer(1:3)
  # Printing what is in a list, the frame that C makes counts itself as its caller.
  for (list in list(list(x), list(list(a = x)), structure(1, of = x), pairlist(x))) {
    expect_fault(capture.output(print(list)), "value", "got a string", "max_rows")
  }
})
