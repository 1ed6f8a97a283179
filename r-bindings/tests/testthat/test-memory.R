# What is collected runs finalizers: this tells whether one has run since.
collected <- function() {
  seen <- FALSE
  local(reg.finalizer(new.env(), function(e) seen <<- TRUE))
  function() seen
}

test_that("nothing that is in use is collected", {
  # A collection at every eighth allocation; only what this package does is under test.
  x <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  wide <- bit64::as.integer64(1:3)
  text <- "func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    return %a, %a : tensor<2x3xf32>, tensor<2x3xf32>
  }"
  double <- pjrt_compile(pjrt_program(text))
  run <- function() {
    results <- pjrt_execute(double, pjrt_buffer(x))
    list(
      as_array(results[[2]]), as_array(pjrt_buffer(wide)), dtype(results[[1]]), shape(results[[1]]),
      format(results[[1]]), tryCatch(pjrt_buffer("a"), error = function(e) e$argument),
      as.character(pjrt_device("cpu:1")), names(plugin_attributes(pjrt_plugin("cpu")))[[1]]
    )
  }
  expect_same_when_tortured(run)
})

test_that("handles end with their last use", {
  gc()
  before <- rs_live_bytes()
  x <- lapply(1:100, function(i) pjrt_buffer(1:100))
  expect_identical(rs_live_bytes() - before, 100 * (400 + 512))
  rm(x)
  gc()
  expect_lte(rs_live_bytes(), before)
})

test_that("results that nobody keeps do not pile up", {
  e <- echo()
  x <- anvl(array(0, 1e6), "f64")
  for (i in 1:100) dispatch(e$d, list(x))
  before <- resident()
  most <- 0
  # 8 MB each.
  for (i in seq_len(if (is_long()) 10000 else 500)) {
    dispatch(e$d, list(x))
    if (i %% 50 == 0) most <- max(most, resident())
  }
  expect_lt(most - before, 1e9)
  if (is_long()) message(sprintf("resident: %.0f MB before, %.0f MB at most", before / 1e6, most / 1e6))
})

test_that("promises, uploads and runs that nobody keeps do not pile up", {
  double <- pjrt_compile(pjrt_program("func.func @main(%a: tensor<1000000xf64>) -> tensor<1000000xf64> {
    %b = stablehlo.add %a, %a : tensor<1000000xf64>
    return %b : tensor<1000000xf64>
  }"))
  x <- as.double(1:1e6)
  before <- resident()
  for (i in 1:150) {
    as_array_async(pjrt_execute(double, pjrt_buffer(x, "f64")))
    copy_buffer(pjrt_buffer(x, "f64"), "cpu:1")
  }
  expect_lt(resident() - before, 1e9)
  promise <- as_array_async(pjrt_execute(double, pjrt_buffer(x, "f64")))
  gc()
  expect_identical(c(value(promise)), 2 * x)
})

test_that("a callback that fails leaves nothing behind, also where warnings are errors", {
  old <- options(warn = 2)
  on.exit(options(old))
  fails <- function(info) stop("not ", "today")
  for (d in list(
    dispatcher(8L, fails, backend = "plain", extractor = identity, move_inputs = TRUE),
    dispatcher(8L, fails, move_inputs = TRUE)
  )) {
    args <- list(a = 1, b = list(c = 2, 3))
    attempt <- function() tryCatch(dispatch(d, args), error = conditionMessage)
    for (i in 1:100) attempt()
    gc()
    cells <- gc()[, 1]
    before <- resident()
    messages <- character(10000)
    for (i in seq_along(messages)) messages[i] <- attempt()
    expect_identical(unique(messages), "not today")
    expect_lt(resident() - before, 4e6)
    # The messages themselves are some. What has finalizers goes with the second collection.
    gc()
    expect_lt(sum(gc()[, 1] - cells), 30000)
    expect_identical(dispatcher_stats(d)[c("hits", "misses", "compiles", "entries")], list(
      hits = 0L, misses = 10100L, compiles = 0L, entries = 0L
    ))
  }
})

test_that("what does not fit into memory is tried once more after a collection", {
  e <- pjrt_compile(pjrt_program("func.func @main() -> tensor<1000000000000xf64> {
    %a = stablehlo.constant dense<1.0> : tensor<f64>
    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f64>) -> tensor<1000000000000xf64>
    return %b : tensor<1000000000000xf64>
  }"))
  was_collected <- collected()
  expect_fault(as_array(pjrt_execute(e)), "pjrt", "RESOURCE_EXHAUSTED")
  expect_true(was_collected())
})

# A plugin that has room for a few buffers only.
crowded_plugin <- function() {
  source <- test_path("..", "..", "..", "tests", "mock", "plugin.c")
  skip_if_not(file.exists(source) && nzchar(Sys.which("cc")))
  plugin <- tempfile("mock", fileext = ".so")
  arguments <- c("-shared", "-fPIC", "-O1", "-w", "-DCROWDED=20", "-DMODULE=3", "-o", plugin, source)
  stopifnot(system2("cc", arguments) == 0L)
  plugin
}

test_that("where the device has no room R collects, and the second try succeeds", {
  plugin <- crowded_plugin()
  on.exit(unlink(plugin))
  code <- '
    fill <- function(n) for (i in seq_len(n)) pjrt_buffer(c(1, 2))
    # More than there is room for at a time.
    fill(200)
    x <- pjrt_buffer(c(3, 4))
    exec <- pjrt_compile(pjrt_program("a mock compiles anything"))
    for (i in 1:100) y <- pjrt_execute(exec, x)
    cat(as_array(y), "\n")
    d <- dispatcher(8L, function(info) list(
      exec = exec, client = pjrt_client(), device = pjrt_device("cpu"), out_tree = build_tree(1),
      out_avals = list(list(dtype = "f32", shape = 2L)),
      input_dtypes = if (info$avals[[1]]$kind == "rdata") "f32" else NA
    ), default_device = function() pjrt_device("cpu"))
    x <- structure(list(data = x, backend = "pjrt"), class = "AnvlArray")
    for (i in 1:100) y <- dispatch(d, list(x))
    for (i in 1:100) z <- dispatch(d, list(array(c(5, 6), 2)))
    cat(as_array(y$data), as_array(z$data), "\n")
    # Where all are in use there is nothing to collect.
    held <- list()
    out <- tryCatch(for (i in 1:30) held[[i]] <- pjrt_buffer(1), error = conditionMessage)
    cat(out, "\n")
    invisible(gc())
    out <- tryCatch(dispatch(d, list(x)), error = conditionMessage)
    cat(out, "\n")
    held <- NULL
    cat(as_array(dispatch(d, list(x))$data), "\n")'
  run <- run_r(code, paste0("PJRT_PLUGIN_PATH_CPU=", plugin))
  expect_identical(run$out[1:2], c("3 4 ", "3 4 5 6 "))
  expect_match(run$out[3:4], "RESOURCE_EXHAUSTED): the mock is crowded", fixed = TRUE)
  expect_identical(run$out[-(1:4)], "3 4 ")
  expect_identical(run$err, "")
  expect_identical(run$status, 0L)
})

test_that("a buffer keeps the old values of a vector that changes or goes", {
  for (dtype in c("f64", "f32")) {
    x <- runif(1e6)
    expected <- if (dtype == "f64") x[1:3] + 0 else c(as_array(pjrt_buffer(x[1:3], "f32")))
    # Nothing here waits for the transfers.
    kept <- pjrt_buffer(x, dtype)
    x[1:3] <- -1
    gone <- pjrt_buffer(x, dtype)
    rm(x)
    gc()
    other <- runif(1e6)
    expect_identical(c(as_array(kept))[1:3], expected)
    expect_identical(c(as_array(gone))[1:3], c(-1, -1, -1))
  }
})

test_that("a callback may do whatever R can", {
  # It dispatches, collects, frees what it got, and forgets the programs.
  x <- anvl(array(1:3))
  e <- echo(compile = function(info) {
    gc()
    if (identical(names(info$args), "x")) {
      dispatch(e$d, list(y = info$args$x))
      dispatcher_clear(e$d)
      gc()
    }
    echo_result(info)
  })
  expect_identical(values(dispatch(e$d, list(x = x))), list(array(1:3)))
  expect_identical(dispatcher_size(e$d), 1L)
  # A function of the closure engine that forgets itself while it runs.
  p <- plain(function(leaves) {
    dispatcher_clear(p$d)
    for (i in 1:3) gc()
    leaves[[1]] + 1
  })
  expect_identical(dispatch(p$d, list(1)), 2)
  expect_identical(dispatcher_size(p$d), 0L)
  # A jump over the call: no error, but out of it.
  out <- callCC(function(leave) {
    q <- plain(context = function() leave("left"))
    dispatch(q$d, list(1))
  })
  expect_identical(out, "left")
  expect_identical(withRestarts(dispatch(plain(function(x) invokeRestart("mine", 5))$d, list(1)), mine = identity), 5)
})

test_that("a recursion without end is R's own error, wherever the stack ends", {
  run <- run_r('
    options(expressions = 500000)
    wrong <- function(expr) cat(sub(".*(C stack usage|infinite recursion|too deeply).*", "\\\\1", tryCatch(expr, error = conditionMessage)), "\n")
    plain <- function(compile) {
      dispatcher(50L, compile, static = "s", backend = "plain", move_inputs = TRUE, extractor = identity)
    }
    p <- plain(function(info) list(r_fun = function(leaves) dispatch(p, leaves)))
    wrong(dispatch(p, list(1)))
    compiling <- plain(function(info) dispatch(compiling, c(info$args, 1)))
    wrong(dispatch(compiling, list(1)))
    # Values that take much of the stack themselves.
    deep <- 1
    for (i in 1:1900) deep <- list(deep)
    q <- plain(function(info) list(r_fun = function(leaves) 1))
    recursive <- function(call) {
      recurse <- function(n) {
        call()
        recurse(n + 1)
      }
      wrong(recurse(1))
    }
    recursive(function() dispatch(q, list(1, s = deep)))
    recursive(function() dispatch(q, list(1, deep)))
    recursive(function() build_tree(deep))')
  expect_identical(run$out, rep("C stack usage ", 5))
  expect_identical(run$status, 0L)
})

test_that("a child of a fork is refused, whatever it calls, and the parent goes on", {
  skip_on_os("windows")
  e <- echo()
  x <- anvl(array(1:3))
  dispatch(e$d, list(x))
  promise <- as_array_async(x$data)
  child <- parallel::mcparallel({
    code <- function(expr) tryCatch(expr, error = function(e) e$code)
    out <- c(
      code(dispatch(e$d, list(x))), code(as_array(x$data)), code(value(promise)), code(dispatcher_size(e$d)),
      code(pjrt_buffer(1)), code(build_tree(1))
    )
    # Nor does it end what is the parent's.
    rm(x, promise)
    for (i in 1:3) gc()
    out
  })
  expect_identical(parallel::mccollect(child)[[1]], rep("forked", 6))
  expect_identical(values(dispatch(e$d, list(x))), list(array(1:3)))
})
