# Clients and buffers that packages share: `borrower` (C, by inst/include/pjrtdispatch.h) and `families` (Rust, with its
# own copy of the runtime) of tests/packages, which scripts/test-r installs.

skip_if_not_installed("borrower")
skip_if_not_installed("families")
families <- asNamespace("families")
borrower <- asNamespace("borrower")
# Of a buffer, or of an array.
values <- function(x) as.vector(as_array(if (inherits(x, "AnvlArray")) x$data else x))

test_that("another package gets the one client of a platform, and its devices", {
  client <- borrower$client_of("cpu")
  expect_identical(client$object, pjrt_client("cpu"))
  expect_identical(borrower$client_of(NULL), client)
  expect_identical(client$platform, "cpu")
  expect_true(client$complete)
  expect_identical(client$devices, length(devices("cpu")))
  expect_match(format(pjrt_plugin("cpu")), client$plugin, fixed = TRUE)
  expect_identical(borrower$device_of("cpu:1"), pjrt_device("cpu:1"))
  expect_identical(borrower$device_of(pjrt_device("cpu:1")), pjrt_device("cpu:1"))
  expect_identical(borrower$device_of(NULL), pjrt_device("cpu:0"))
})

test_that("whoever asks first makes the client", {
  out <- run_r(c(
    "client <- borrower::client_of('cpu')$object",
    "cat(identical(client, pjrt_client()), length(devices(client)))"
  ), "PJRT_CPU_DEVICE_COUNT=3")
  expect_identical(out[c("out", "status")], list(out = "TRUE 3", status = 0L))
})

test_that("another package sees what a buffer is", {
  about <- borrower$about(pjrt_buffer(matrix(1:6, 2), device = "cpu:1"))
  expect_identical(about$dtype, 4L)
  expect_identical(about$dims, c(2, 3))
  expect_identical(about$device, 1L)
  expect_identical(about$device_object, pjrt_device("cpu:1"))
  expect_identical(about$platform, "cpu")
  expect_true(about$same_client)
  expect_true(about$has_buffer)
  expect_identical(borrower$about(pjrt_scalar(TRUE))$dims, numeric())
  expect_identical(borrower$about(pjrt_empty("f32", rep(1L, 8)))$dims, rep(1, 8))
  expect_true(borrower$is_buffer(pjrt_scalar(1)))
  expect_false(borrower$is_buffer(1))
})

test_that("what is no living buffer is an error of this package, with its class and code", {
  expect_fault(borrower$about(1), "type", "argument `buffer`: expected a PJRTBuffer, got a double value", "buffer")
  released <- pjrt_buffer(1)
  release(released)
  expect_fault(borrower$about(released), "dead", "got one that was released", "buffer")
  expect_false(borrower$is_buffer(released))
  expect_fault(borrower$about(unserialize(serialize(pjrt_buffer(1), NULL))), "dead", "from another session")
  expect_fault(borrower$device_of("cpu:99"), "value", "expected one of the devices", "device")
  expect_fault(borrower$client_of("moon"), "option", "got \"moon\"")
})

test_that("an error names the call of the other package's function", {
  condition <- condition_of(borrower$about(1))
  expect_identical(condition$call, quote(borrower$about(1)))
})

test_that("an error can be looked at without a jump, and an older struct is not written past its end", {
  expect_identical(
    borrower$code_of_error("a"), c("type", "argument `thing`: expected a PJRTBuffer, got a string", "thing")
  )
  expect_true(borrower$code_of_error(pjrt_buffer(1)))
})

test_that("a buffer that another package gives away is one of this package", {
  x <- borrower$give(c(1.5, 2.5, 3.5), "cpu:1")
  expect_s3_class(x, "PJRTBuffer", exact = TRUE)
  expect_identical(values(x), c(1.5, 2.5, 3.5))
  expect_identical(device(x), pjrt_device("cpu:1"))
  expect_identical(as.character(elt_type(x)), "f64")
  double <- pjrt_compile(pjrt_program("func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.add %a, %a : tensor<3xf64>
    return %0 : tensor<3xf64>
  }"), device = "cpu:1")
  expect_identical(values(pjrt_execute(double, x)), c(3, 5, 7))
  gc()
  before <- rs_live_bytes()
  y <- borrower$give(numeric(1000), NULL)
  expect_gte(rs_live_bytes() - before, 8000)
  rm(y)
  gc()
  expect_lte(rs_live_bytes(), before)
})

test_that("a buffer that another package keeps is given back to it once", {
  expect_identical(borrower$lent()[[1]], 0L)
  x <- borrower$lend(c(1, 2), NULL)
  y <- borrower$lend(c(3, 4), NULL)
  expect_identical(values(x), c(1, 2))
  expect_identical(borrower$lent()[[1]], 2L)
  release(x)
  expect_identical(borrower$lent()[[1]], 1L)
  rm(y)
  gc()
  expect_identical(borrower$lent()[[1]], 0L)
})

test_that("a donated buffer is gone for both, and its owner is told", {
  give <- pjrt_compile(pjrt_program("func.func @main(%a: tensor<2xf64> {tf.aliasing_output = 0 : i32}) -> tensor<2xf64> {
    %0 = stablehlo.add %a, %a : tensor<2xf64>
    return %0 : tensor<2xf64>
  }"))
  x <- borrower$lend(c(1, 2), NULL)
  told <- borrower$lent()[[2]]
  expect_identical(values(pjrt_execute(give, x)), c(2, 4))
  expect_identical(borrower$lent()[[2]], told + 1L)
  expect_fault(as_array(x), "donated", "donated")
  expect_identical(borrower$donation(x, 0L), 1L)
  rm(x)
  gc()
  expect_identical(borrower$lent()[[1]], 0L)

  # The other way: the other package gives one of ours to a program of its own, which fails the first time.
  y <- pjrt_buffer(c(1, 2))
  expect_identical(c(borrower$donation(y, 0L), borrower$donation(y, 1L), borrower$donation(y, 1L)), c(0L, 0L, 1L))
  expect_fault(as_array(y), "donated", "donated")
  borrower$donation(y, 2L)
  expect_identical(values(y), c(1, 2))
})

test_that("a reference keeps a buffer beyond its R object", {
  x <- pjrt_buffer(c(1, 2))
  held <- borrower$hold(x)
  release(x)
  expect_identical(borrower$donation(held, 0L), 0L)
  borrower$let_go(held)
})

test_that("references are counted from any thread; everything else is refused there", {
  x <- pjrt_buffer(c(1, 2))
  expect_true(borrower$on_other_thread(x))
  expect_identical(values(x), c(1, 2))
})

test_that("wrong claims are errors that name the field, and nothing is taken over", {
  gc()
  before <- rs_live_bytes()
  expect_fault(borrower$give_wrong("client"), "type", "argument `client`: expected one that pjrtdispatch has given")
  expect_fault(borrower$give_wrong("device"), "value", "argument `device`: expected an index from 0 to 1, got 99")
  expect_fault(borrower$give_wrong("dtype"), "value", "argument `dtype`: expected a PJRT_Buffer_Type that R has, got 999")
  expect_fault(borrower$give_wrong("dims"), "value", "argument `dims`: expected sizes of 0 or more, got -1")
  expect_fault(borrower$give_wrong("rank"), "value", "argument `dims`")
  expect_fault(borrower$give_wrong("buffer"), "value", "argument `buffer`: expected a PJRT_Buffer, got null")
  expect_identical(rs_live_bytes(), before)
})

test_that("the header and the library agree, and another version is refused", {
  expect_identical(borrower$ask_version(2L), c(1L, 2L, 1L))
  expect_identical(borrower$ask_version(1L), c(0L, 2L, 0L))
  expect_identical(borrower$ask_version(3L), c(0L, 2L, 0L))
})

test_that("a package with its own copy of the runtime has the same client and devices", {
  expect_identical(families$client_of("cpu"), pjrt_client("cpu"))
  expect_identical(families$device_of("cpu:1"), pjrt_device("cpu:1"))
  expect_identical(families$device_of(pjrt_device("cpu:0")), pjrt_device("cpu:0"))
  expect_fault(families$device_of("cpu:99"), "value", "expected one of the devices", "device")
  expect_fault(families$client_of("moon"), "option", "got \"moon\"")
  out <- run_r(c(
    "x <- families::upload(1:2, 'cpu:2')", "cat(format(device(x)), length(devices('cpu')))"
  ), "PJRT_CPU_DEVICE_COUNT=3")
  expect_identical(out[c("out", "status")], list(out = "<PJRTDevice cpu:2> 3", status = 0L))
})

test_that("a buffer made by one package is an argument to another's family", {
  x <- pjrt_buffer(c(1, 2, 3))
  y <- borrower$lend(c(1, 2, 3), NULL)
  z <- families$upload(1:3, "cpu:0")
  a <- families$axpy(x, z, pjrt_scalar(10))
  expect_s3_class(a, "AnvlArray", exact = TRUE)
  expect_s3_class(a$data, "PJRTBuffer", exact = TRUE)
  expect_identical(values(a), c(11, 22, 33))
  expect_identical(values(families$axpy(a, a, pjrt_scalar(1))), c(22, 44, 66))
  expect_identical(values(families$axpy(y, y, pjrt_scalar(2, "f64"))), c(3, 6, 9))
  # And the other way: a program of ours, and a dispatcher.
  add <- pjrt_compile(pjrt_program("func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %a, %b : tensor<3xf32>
    return %0 : tensor<3xf32>
  }"))
  expect_identical(values(pjrt_execute(add, a$data, x)), c(12, 24, 36))
  expect_identical(borrower$about(a$data)$dims, 3)
})

test_that("errors of the other copy name the argument, the class and the call", {
  x <- pjrt_buffer(c(1, 2))
  expect_fault(families$axpy("1", x, x), "type", "argument `x`: expected an AnvlArray, a PJRTBuffer, or", "x")
  condition <- expect_fault(families$axpy(x, pjrt_buffer(c(1, 2, 3)), pjrt_scalar(1)), "shape", "argument `y`", "y")
  expect_identical(condition$call, quote(families$axpy(x, pjrt_buffer(c(1, 2, 3)), pjrt_scalar(1))))
  expect_fault(families$axpy(pjrt_buffer(1:2), x, x), "dtype", "argument `x`", "x")
})

test_that("a handle of another library is refused, not looked into", {
  expect_fault(
    families$own_device(pjrt_device("cpu:0")), "type",
    "argument `x`: expected a PJRTDevice, got one of another copy of this toolkit", "x"
  )
})

test_that("what another package's family consumes is gone here", {
  x <- pjrt_buffer(c(1, 2))
  expect_identical(values(families$doubled(x)), c(2, 4))
  expect_fault(as_array(x), "donated", "donated")
  expect_fault(families$doubled(x), "donated", "donated")
  again <- pjrt_buffer(c(1, 2))
  alias <- families$same(again)
  families$doubled(alias)
  expect_fault(as_array(again), "donated", "donated")
  # Its owner's donation is known before a program is run with it.
  first <- pjrt_buffer(c(1, 2))
  alias <- families$same(first)
  families$doubled(first)
  array <- structure(list(data = alias, backend = "pjrt"), class = "AnvlArray")
  expect_fault(dispatch(echo()$d, list(x = array)), "donated", "`x`", "x")
})

test_that("buffers go round between packages without a leak, and live as long as the last of them holds one", {
  x <- pjrt_buffer(c(1, 2))
  expect_identical(values(families$same(families$same(x))), c(1, 2))
  y <- borrower$lend(c(5, 6), NULL)
  families$hold(y)
  rm(y)
  gc()
  expect_identical(borrower$lent()[[1]], 1L)
  expect_true(families$hold(NULL))
  expect_identical(borrower$lent()[[1]], 0L)
  z <- families$same(borrower$lend(c(5, 6), NULL))
  gc()
  expect_identical(c(values(z), borrower$lent()[[1]]), c(5, 6, 1))
  release(z)
  gc()
  expect_identical(borrower$lent()[[1]], 0L)
  gc()
  before <- rs_live_bytes()
  for (i in 1:1000) families$axpy(x, families$same(x), pjrt_scalar(1))
  gc()
  expect_identical(rs_live_bytes(), before)
})

test_that("nothing that packages share is collected while it is in use", {
  run <- function() {
    x <- pjrt_buffer(c(1, 2))
    y <- families$axpy(x, borrower$give(c(1, 2), NULL) |> as_array() |> pjrt_buffer(), pjrt_scalar(2))
    list(
      values(y), values(families$same(borrower$lend(c(5, 6), "cpu:1"))), borrower$about(y$data)$dims,
      condition_of(borrower$about("a"))$code, condition_of(families$axpy(x, x, "a"))$argument,
      format(families$device_of("cpu:1"))
    )
  }
  expect_same_when_tortured(run)
})

test_that("packages may be unloaded and loaded again", {
  out <- run_r(c(
    "x <- pjrt_buffer(c(1, 2)); y <- borrower::lend(c(3, 4), NULL); client <- pjrt_client()",
    "unloadNamespace('borrower'); unloadNamespace('pjrtdispatch')",
    "library(pjrtdispatch)",
    "cat(as_array(x), as_array(y), identical(pjrt_client(), client), borrower::about(x)$dims, '')",
    "rm(y); invisible(gc()); cat(borrower::lent()[[1]], '')",
    "z <- families::axpy(x, x, pjrt_scalar(2)); unloadNamespace('families')",
    "cat(as_array(z$data), as_array(families::axpy(z, x, pjrt_scalar(1))$data))"
  ))
  expect_identical(out[c("out", "status")], list(out = "1 2 3 4 TRUE 2 0 3 6 4 8", status = 0L))
})

test_that("a forked process gets an error", {
  skip_on_os("windows")
  x <- pjrt_buffer(1)
  child <- parallel::mcparallel(tryCatch(borrower$about(x), error = identity))
  expect_identical(parallel::mccollect(child)[[1]]$code, "forked")
})

test_that("loading the package changes no other library's symbols", {
  code <- "cat(basename(La_library()), as.character(getLoadedDLLs()[['lapack']] |> is.null()), solve(matrix(c(2, 1, 1, 3), 2), c(1, 2)))"
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(code, file)
  plain <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE)
  use <- "invisible(pjrt_execute(pjrt_compile(pjrt_program('func.func @main() -> tensor<f32> {
    %0 = stablehlo.constant dense<1.0> : tensor<f32>
    return %0 : tensor<f32>
  }'))))"
  expect_identical(run_r(c(use, code))$out, plain)
})
