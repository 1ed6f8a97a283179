test_that("arrays contribute their buffer, and results are AnvlArrays", {
  e <- echo(compile = function(info) {
    src <- "func.func @main(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<2x3xf64> {
      %r = stablehlo.subtract %x, %y : tensor<2x3xf64>
      return %r : tensor<2x3xf64>
    }"
    list(
      exec = pjrt_compile(pjrt_program(src)), client = pjrt_client(), device = cpu(), out_tree = build_tree(1),
      out_avals = list(list(dtype = "f64", shape = 2:3))
    )
  })
  x <- matrix(1:6 + 0.5, 2, 3)
  y <- matrix(1, 2, 3)
  for (i in 1:2) {
    out <- dispatch(e$d, list(anvl(x, "f64"), anvl(y, "f64")))
    expect_s3_class(out, "AnvlArray", exact = TRUE)
    expect_named(out, c("data", "dtype", "shape", "device", "backend"))
    expect_s3_class(out$data, "PJRTBuffer")
    expect_identical(as_array(out$data), x - y)
    expect_identical(out$dtype, structure("f64", class = "DataType"))
    expect_identical(out$shape, 2:3)
    expect_identical(out$device, pjrt_device("cpu:0"))
    expect_identical(out$backend, "pjrt")
  }
  expect_identical(compiles(e$d), 1L)
})

test_that("arrays that carry their dtype, shape and device, or a class of their own, are arrays too", {
  e <- echo()
  fields <- anvl(array(1:3))
  fields[c("dtype", "shape", "device")] <- list("i32", 3L, cpu())
  derived <- structure(anvl(array(1:3)), class = c("Mine", "AnvlArray"))
  turned <- structure(rev(unclass(anvl(array(1:3)))), class = "AnvlArray")
  for (x in list(anvl(array(1:3)), fields, derived, turned)) {
    expect_identical(values(dispatch(e$d, list(x))), list(array(1:3)))
  }
  out <- dispatch(e$d, list(anvl(array(1:3))))
  expect_identical(values(dispatch(e$d, out)), list(array(1:3)))
  expect_identical(compiles(e$d), 1L)
  none <- structure(list(data = pjrt_buffer(1)), class = "AnvlArray")
  expect_fault(dispatch(e$d, list(x = none)), "type", "got an AnvlArray without a backend", "x")
  other <- structure(list(data = 1, backend = "quickr"), class = "AnvlArray")
  expect_fault(dispatch(e$d, list(x = other)), "type", "got an AnvlArray of backend \"quickr\"", "x")
  wrong <- structure(list(data = 1, backend = "pjrt"), class = "AnvlArray")
  expect_fault(dispatch(e$d, list(x = wrong)), "type", "argument `x$data`: expected a PJRTBuffer, got a double", "x$data")
  freed <- anvl(1)
  release(freed$data)
  expect_fault(dispatch(e$d, list(x = freed)), "dead", "argument `x$data`: expected a PJRTBuffer that is alive", "x$data")
  expect_length(e$infos(), 1)
})

test_that("an array's aval is the buffer's", {
  e <- echo()
  dispatch(e$d, list(anvl(matrix(TRUE, 2, 1)), anvl(1, "i64"), anvl(array(1, c(2, 0, 3)), "f64")))
  scalar <- structure(list(data = pjrt_scalar(2L), backend = "pjrt"), class = "AnvlArray")
  expect_identical(values(dispatch(e$d, list(scalar))), list(2L))
  expect_identical(e$infos()[[1]]$avals, list(
    list(kind = "array", dtype = "bool", shape = 2:1), list(kind = "array", dtype = "i64", shape = 1L),
    list(kind = "array", dtype = "f64", shape = c(2L, 0L, 3L))
  ))
})

test_that("results are nested as out_tree says", {
  shapes <- list(
    quote(list()), quote(list(1)), quote(list(a = 1, b = list(2, c = NULL))), quote(list(list(list(1), 2), NULL, x = 3))
  )
  for (shape in shapes) {
    like <- eval(shape)
    e <- echo(compile = function(info) echo_result(info, wrap = function(n) build_tree(like)))
    args <- unname(as.list(unlist(like)))
    for (i in 1:2) {
      out <- dispatch(e$d, args)
      expect_true(tree_equal(build_tree(out), build_tree(like)))
      expect_identical(lapply(flatten(out), function(x) as_array(x$data)), args)
    }
  }
})

test_that("bare data is uploaded at the dtype that the entry declares", {
  e <- echo(compile = function(info) {
    result <- echo_result(info)
    result$exec <- echo_program("f64", list(integer()))
    result$out_avals[[1]]$dtype <- "f64"
    result$input_dtypes <- "f64"
    result
  })
  expect_identical(values(dispatch(e$d, list(0.1))), list(0.1))
  expect_identical(values(dispatch(e$d, list(pi))), list(pi))
  expect_identical(compiles(e$d), 1L)
  e <- echo()
  m <- matrix(1:6, 2, 3)
  l <- array(c(TRUE, FALSE), c(1, 2, 1))
  expect_identical(values(dispatch(e$d, list(m, l, 3))), list(m, l, 3))
  expect_identical(values(dispatch(e$d, list(m + 1L, !l, 4))), list(m + 1L, !l, 4))
  empty <- array(numeric(), c(0, 3))
  expect_identical(values(dispatch(e$d, list(empty, array(integer(), 0L)))), list(empty, array(integer(), 0L)))
  # R has not made the elements of this one yet.
  sequence <- 1:4
  dim(sequence) <- 4L
  expect_identical(values(dispatch(e$d, list(sequence))), list(array(1:4)))
})

test_that("which R type uploads at which dtype is checked when the entry is made", {
  all <- c("bool", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f32", "f64")
  can <- list(double = all, integer = setdiff(all, "bool"), logical = "bool")
  for (type in names(can)) {
    for (dtype in all) {
      e <- echo(compile = function(info) {
        result <- echo_result(info)
        result$exec <- echo_program(dtype, list(integer()))
        result$out_avals[[1]]$dtype <- dtype
        result$input_dtypes <- dtype
        result
      })
      value <- as.vector(1, type)
      if (dtype %in% can[[type]]) {
        expect_identical(dispatch(e$d, list(value))[[1]]$dtype, structure(dtype, class = "DataType"))
      } else {
        message <- paste0("expected a dtype that the ", type, " input `v` can have, got \"", dtype, "\"")
        expect_fault(dispatch(e$d, list(v = value)), "compile", message, "input_dtypes")
        expect_identical(dispatcher_size(e$d), 0L)
      }
    }
  }
})

# A dispatcher whose callback's result is changed before it is given.
changed <- function(change, ...) echo(compile = function(info) change(echo_result(info)), ...)$d

test_that("the result of compile is checked: input_dtypes", {
  x <- anvl(array(1:3))
  of <- function(dtypes) changed(function(result) replace(result, "input_dtypes", list(dtypes)))
  expect_identical(values(dispatch(of(NULL), list(x))), list(array(1:3)))
  expect_identical(values(dispatch(of(NA), list(x))), list(array(1:3)))
  refused <- function(dtypes, args, message) expect_fault(dispatch(of(dtypes), args), "compile", message, "input_dtypes")
  refused("i32", list(a = x), "expected NA for the array `a`, which is supplied as it is, got \"i32\"")
  refused(NULL, list(b = list(2)), "expected a dtype for the double input `b[[1]]`, got no such field")
  refused(NA_character_, list(b = 2L), "expected a dtype for the integer input `b`, got NA")
  refused("double", list(2), "expected a dtype for `[[1]]`, got \"double\"")
  refused(c("f32", "f32"), list(2), "expected one entry per dynamic leaf, which are 1, got 2")
  refused(1, list(2), "expected a character vector, got a double value")
  refused("f64", list(y = 2), "expected f32 for `y`, which `exec` takes, got f64")
})

test_that("the result of compile is checked: exec, client, device", {
  refused <- function(field, value, message, args = list(1)) {
    d <- changed(function(result) replace(result, field, list(value)))
    expect_fault(dispatch(d, args), "compile", message, field)
    expect_identical(dispatcher_size(d), 0L)
  }
  refused("exec", NULL, "the result of `compile`, field `exec`: expected a PJRTLoadedExecutable, got NULL")
  refused("exec", pjrt_client(), "expected a PJRTLoadedExecutable, got a PJRTClient")
  refused("client", "cpu", "field `client`: expected a PJRTClient, got a string")
  refused("device", "cpu", "field `device`: expected a PJRTDevice, got a string")
  refused("device", pjrt_device("cpu:1"), "expected cpu:0, which `exec` is compiled for, got cpu:1")
  refused(
    "exec", echo_program(c("f32", "f32"), list(integer(), integer()), gives = 1L),
    "expected a program of 1 argument (0 constants, 1 input, 0 phantoms), got one of 2"
  )
  expect_fault(
    dispatch(echo(compile = function(info) echo_result(info, "cpu:1"))$d, list(1)), "compile",
    "field `device`: expected cpu:0, the device of the call, got cpu:1", "device"
  )
  d <- changed(function(result) {
    result$exec <- echo_program("f32", list(2L))
    result$out_avals[[1]]$shape <- 2L
    result
  })
  expect_fault(dispatch(d, list(x = 1)), "compile", "expected a program that takes `x` as f32[], got f32[2]", "exec")
})

test_that("the result of compile is checked: out_tree, out_avals", {
  refused <- function(field, value, message, named = field) {
    d <- changed(function(result) replace(result, field, list(value)))
    expect_fault(dispatch(d, list(1, 2L)), "compile", message, named)
  }
  refused("out_tree", list(1, 2), "field `out_tree`: expected an RTree, got a list of length 2")
  refused("out_tree", build_tree(1), "expected a tree of as many leaves as `exec` has results, which are 2, got 1")
  avals <- list(list(dtype = "f32", shape = integer()), list(dtype = "i32", shape = integer()))
  refused("out_avals", NULL, "field `out_avals`: expected a list of lists, got NULL")
  refused("out_avals", avals[1], "expected one aval per leaf of `out_tree`, which are 2, got 1")
  refused("out_avals", rev(avals), "expected f32[] as result 1, which `exec` gives, got i32[]")
  refused("out_avals", list(avals[[1]], 3), "expected a list of dtype and shape, got a double value", "out_avals[[2]]")
  refused("out_avals", list(list(dtype = "f33", shape = 1L), 3), "expected a dtype, got \"f33\"", "out_avals[[1]]$dtype")
  refused("out_avals", list(list(dtype = "f32", shape = -1L), 3), "expected the sizes of an array", "out_avals[[1]]$shape")
  classed <- lapply(avals, function(aval) replace(aval, "dtype", list(structure(aval$dtype, class = "DataType"))))
  d <- changed(function(result) replace(result, "out_avals", list(classed)))
  expect_identical(values(dispatch(d, list(1, 2L))), list(1, 2L))
})

test_that("constants come first, then the inputs, then the phantoms", {
  scale <- pjrt_buffer(array(c(10, 20)), "f32")
  compile <- function(info) {
    list(
      exec = echo_program(c("f32", "i32", "f64"), list(2L, integer(), 3L)), client = pjrt_client(), device = cpu(),
      out_tree = build_tree(list(1, 2, 3)),
      out_avals = list(list(dtype = "f32", shape = 2L), list(dtype = "i32", shape = integer()), list(dtype = "f64", shape = 3L)),
      const_arrays = list(scale), phantom_specs = list(list(dtype = "f64", shape = 3L)), input_dtypes = "i32"
    )
  }
  d <- echo(compile = compile)$d
  for (i in 1:2) {
    out <- dispatch(d, list(i))
    expect_identical(values(out[1:2]), list(array(c(10, 20)), i))
    expect_identical(out[[3]]$shape, 3L)
  }
  rm(scale)
  scale <- NULL
  gc()
  expect_identical(as_array(dispatch(d, list(5L))[[1]]$data), array(c(10, 20)))

  scale <- pjrt_buffer(array(c(10, 20)), "f32")
  refused <- function(field, value, message, named = field) {
    d <- echo(compile = function(info) replace(compile(info), field, list(value)))$d
    expect_fault(dispatch(d, list(5L)), "compile", message, named)
  }
  refused("const_arrays", scale, "expected a list of buffers, got a PJRTBuffer")
  refused("const_arrays", list(1), "expected a PJRTBuffer, got a double value", "const_arrays[[1]]")
  refused("const_arrays", list(pjrt_buffer(1)), "expected f32[2], which `exec` takes, got f32[1]", "const_arrays[[1]]")
  refused("const_arrays", NULL, "expected a program of 2 arguments (0 constants, 1 input, 1 phantom), got one of 3", "exec")
  there <- list(pjrt_buffer(array(1:2 + 0), "f32", device = "cpu:1"))
  refused("const_arrays", there, "expected a buffer on cpu:0, got one on cpu:1", "const_arrays[[1]]")
  refused("phantom_specs", list(list(dtype = "f32", shape = 3L)), "expected f64[3], which `exec` takes, got f32[3]", "phantom_specs[[1]]")
  refused("phantom_specs", "f64", "expected a list of lists, or nothing, got a string")
})

donating <- function(attributes = c(" {tf.aliasing_output = 0 : i32}", ""), n = 2L, consts = NULL, ...) {
  echo(compile = function(info) {
    list(
      exec = echo_program(rep("f32", n), rep(list(4L), n), gives = 1L, attributes = attributes), client = pjrt_client(),
      device = cpu(), out_tree = build_tree(1), out_avals = list(list(dtype = "f32", shape = 4L)), const_arrays = consts
    )
  }, ...)$d
}

test_that("an input that the program donates is gone afterwards", {
  d <- donating()
  x <- anvl(array(1:4 + 0), "f32")
  y <- anvl(array(5:8 + 0), "f32")
  out <- dispatch(d, list(a = x, b = y))
  expect_identical(as_array(out$data), array(1:4 + 0))
  expect_identical(as_array(y$data), array(5:8 + 0))
  expect_fault(as_array(x$data), "donated", "the array was donated to an earlier call and is gone")
  expect_fault(dispatch(d, list(a = x, b = y)), "donated", "argument `a`: the array was donated", "a")
  out <- dispatch(d, list(a = out, b = y))
  for (i in 1:20) out <- dispatch(d, list(a = out, b = y))
  expect_identical(as_array(out$data), array(1:4 + 0))
})

test_that("a donated buffer that is passed twice is an error that loses nothing", {
  d <- donating()
  x <- anvl(array(1:4 + 0), "f32")
  expect_fault(dispatch(d, list(a = x, b = x)), "donated", "argument `a`: the program consumes this buffer, which is passed as `b` too", "a")
  expect_identical(as_array(x$data), array(1:4 + 0))
  d <- donating(rep(" {tf.aliasing_output = 0 : i32}", 1), n = 1L, consts = list(x$data))
  expect_fault(dispatch(d, list()), "compile", "expected an argument that `exec` leaves as it is", "const_arrays[[1]]")
  d <- donating(c("", " {tf.aliasing_output = 0 : i32}"), consts = list(x$data))
  expect_fault(dispatch(d, list(a = x)), "donated", "which is one of its constants too", "a")
  expect_identical(as_array(x$data), array(1:4 + 0))
})

test_that("two devices: a program runs where its inputs are, and another device is an error or a copy", {
  e <- echo(compile = function(info) echo_result(info, info$leaves[[1]]$device))
  at <- function(x, device) {
    x <- anvl(x, device = device)
    x$device <- pjrt_device(device)
    x
  }
  one <- at(array(1:2), "cpu:0")
  two <- at(array(3:4), "cpu:1")
  out <- dispatch(e$d, list(two, two))
  expect_identical(out[[1]]$device, pjrt_device("cpu:1"))
  expect_identical(device(out[[2]]$data), pjrt_device("cpu:1"))
  dispatch(e$d, list(one, one))
  expect_identical(compiles(e$d), 2L)
  expect_fault(
    dispatch(e$d, list(one, b = two)), "device",
    "argument `b`: expected an array on cpu:0, where the first one is, got one on cpu:1", "b"
  )
  e <- echo(compile = function(info) echo_result(info, "cpu:1"), move_inputs = TRUE, default_device = NULL)
  for (args in list(list(one, two), list(two, one), list(one, one))) {
    out <- dispatch(e$d, args)
    expect_identical(out[[1]]$device, pjrt_device("cpu:1"))
    expect_identical(values(out), lapply(args, function(x) as_array(x$data)))
  }
  expect_identical(compiles(e$d), 1L)
  expect_null(e$infos()[[1]]$default_device)
  expect_identical(device(dispatch(e$d, list(1))[[1]]$data), pjrt_device("cpu:1"))
})

test_that("without an array the default device decides, and is part of the key", {
  now <- "cpu:0"
  e <- echo(compile = function(info) echo_result(info, info$default_device), default_device = function() pjrt_device(now))
  for (device in c("cpu:0", "cpu:1", "cpu:0")) {
    now <- device
    expect_identical(dispatch(e$d, list(1))[[1]]$device, pjrt_device(device))
  }
  expect_identical(compiles(e$d), 2L)
  dispatch(e$d, list())
  e <- echo(default_device = function() "cpu")
  expect_fault(dispatch(e$d, list(1)), "type", "expected a function that gives a PJRTDevice, got a string", "default_device")
})

test_that("anvl's way of working: x <- f(x, 1), and default dtypes as context", {
  context <- c("f32", "i32")
  compile <- function(info) {
    dtype <- if (info$avals[[1]]$kind == "array") info$avals[[1]]$dtype else info$context[1]
    src <- gsub("T", mlir_type(dtype, integer()), "func.func @main(%x: T, %y: T) -> T {
      %r = stablehlo.add %x, %y : T
      return %r : T
    }", fixed = TRUE)
    kinds <- vapply(info$avals, function(aval) aval$kind, "")
    list(
      exec = pjrt_compile(pjrt_program(src), device = cpu()), client = pjrt_client(), device = cpu(),
      out_tree = build_tree(1), out_avals = list(list(dtype = dtype, shape = integer())),
      input_dtypes = ifelse(kinds == "rdata", dtype, NA_character_)
    )
  }
  e <- echo(compile = compile, context = function() context, move_inputs = TRUE, default_device = NULL)
  f <- function(...) dispatch(e$d, list(...))
  x <- structure(list(data = pjrt_scalar(0, "f32"), backend = "pjrt"), class = "AnvlArray")
  f(x, 1)
  expect_no_compile(for (i in 1:10) x <- f(x, 1))
  expect_identical(as_array(x$data), 10)
  expect_identical(compiles(e$d), 1L)
  got <- character()
  for (dtype in c("f32", "f64", "f32")) {
    context[1] <- dtype
    got <- c(got, unclass(f(1, 2)$dtype))
  }
  expect_identical(got, c("f32", "f64", "f32"))
  expect_identical(compiles(e$d), 3L)
})

test_that("an error of compile arrives, and nothing is kept", {
  broken <- echo(compile = function(info) pjrt_compile(pjrt_program("nonsense")))
  expect_error(dispatch(broken$d, list(1)), class = "pjrtdispatch_error")
  expect_identical(dispatcher_size(broken$d), 0L)
})

test_that("a callback that releases an input is told of it", {
  x <- anvl(array(1:3))
  e <- echo(compile = function(info) {
    release(x$data)
    echo_result(info)
  })
  expect_fault(dispatch(e$d, list(x = x)), "dead", "argument `x$data`: expected a PJRTBuffer that is alive", "x$data")
  x <- anvl(array(1:3))
  e <- echo(context = function() {
    release(x$data)
    "c"
  })
  expect_fault(dispatch(e$d, list(x = x)), "dead", "argument `x$data`", "x$data")
})

test_that("nothing breaks where R collects at every allocation: pjrt", {
  e <- echo()
  x <- anvl(array(1:3))
  dispatch(e$d, list(x, b = 2))
  old <- gctorture2(5)
  on.exit(gctorture2(old))
  for (i in 1:2) out <- dispatch(e$d, list(x, b = 2))
  out <- dispatch(e$d, list(x, c = list(TRUE)))
  gctorture2(old)
  expect_identical(values(out), list(array(1:3), TRUE))
})

test_that("an integer may become complex, as the help says", {
  e <- echo(compile = function(info) {
    result <- echo_result(info)
    result$exec <- pjrt_compile(pjrt_program("func.func @main(%x: tensor<complex<f32>>) -> tensor<complex<f32>> {
      return %x : tensor<complex<f32>>
    }"))
    result$out_avals[[1]]$dtype <- "c64"
    result$input_dtypes <- "c64"
    result
  })
  expect_identical(values(dispatch(e$d, list(3L))), list(3 + 0i))
  expect_identical(values(dispatch(e$d, list(0.5))), list(0.5 + 0i))
})

test_that("a value that the declared dtype does not hold is an error that names the input", {
  at <- function(dtype, shape = integer()) {
    echo(compile = function(info) {
      result <- echo_result(info)
      result$exec <- echo_program(dtype, list(shape))
      result$out_avals[[1]]$dtype <- dtype
      result$input_dtypes <- dtype
      result
    })$d
  }
  refused <- function(dtype, args, message, path, shape = integer()) {
    d <- at(dtype, shape)
    expect_fault(dispatch(d, args), "value", message, path)
    # The program itself is right, and kept.
    expect_identical(dispatcher_size(d), 1L)
  }
  refused("i32", list(a = 2.5), "argument `a`: expected an integer from -2147483648 to 2147483647 (i32), got 2.5", "a")
  refused("ui8", list(b = list(array(c(1, 300)))), "got 300 as element 2", "b[[1]]", 2L)
  refused("i32", list(NA_integer_), "expected no missing values, which i32 does not hold, got NA", "[[1]]")
  refused("bool", list(x = NA), "expected no missing values, which bool does not hold, got NA", "x")
  refused("f32", list(x = 1e300), "a magnitude of at most", "x")
  expect_identical(values(dispatch(at("f32"), list(NA_real_))), list(NaN))
  expect_identical(values(dispatch(at("f32"), list(NA_integer_))), list(NaN))
  expect_identical(values(dispatch(at("f64"), list(NA_integer_))), list(NA_real_))
  expect_identical(values(dispatch(at("f32"), list(0.1))), list(0.1), tolerance = 1e-7)
  expect_identical(values(dispatch(at("f32"), list(16777217L))), list(16777216))
})

test_that("a phantom is memory of its own in every call", {
  n <- 1000L
  src <- gsub("T", "tensor<1000xf64>", "func.func @main(%x: T, %p: T {tf.aliasing_output = 0 : i32}) -> T {
    %r = stablehlo.add %x, %x : T
    return %r : T
  }", fixed = TRUE)
  d <- echo(compile = function(info) {
    list(
      exec = pjrt_compile(pjrt_program(src)), client = pjrt_client(), device = cpu(), out_tree = build_tree(1),
      out_avals = list(list(dtype = "f64", shape = n)), phantom_specs = list(list(dtype = "f64", shape = n))
    )
  })$d
  x <- anvl(array(runif(n)), "f64")
  outs <- lapply(1:20, function(i) dispatch(d, list(x)))
  for (out in outs) expect_identical(as_array(out$data), 2 * as_array(x$data))
})

test_that("static arguments take no place among the inputs, whatever stands around them", {
  e <- echo(static = c("s", "t"))
  x <- anvl(array(1:3))
  for (i in 1:2) {
    expect_identical(values(dispatch(e$d, list(s = list(1, "x"), x = x, t = NULL, y = 2.5))), list(array(1:3), 2.5))
    expect_identical(values(dispatch(e$d, list(y = 2.5, s = list(1, "x"), x = x, t = NULL))), list(2.5, array(1:3)))
  }
  expect_identical(compiles(e$d), 2L)
  info <- e$infos()[[1]]
  expect_identical(info$is_static, c(TRUE, TRUE, FALSE, FALSE))
  expect_identical(info$avals[1:2], list(NULL, NULL))
})

test_that("a call without arguments, and one of three results, run", {
  e <- echo(compile = function(info) {
    src <- "func.func @main() -> (tensor<i32>, tensor<0x3xf32>, tensor<2xi1>) {
      %a = stablehlo.constant dense<7> : tensor<i32>
      %b = stablehlo.constant dense<> : tensor<0x3xf32>
      %c = stablehlo.constant dense<[true, false]> : tensor<2xi1>
      return %a, %b, %c : tensor<i32>, tensor<0x3xf32>, tensor<2xi1>
    }"
    list(
      exec = pjrt_compile(pjrt_program(src), device = info$default_device), client = pjrt_client(),
      device = info$default_device, out_tree = build_tree(list(a = 1, b = list(2, 3))),
      out_avals = list(
        list(dtype = "i32", shape = integer()), list(dtype = "f32", shape = c(0L, 3L)), list(dtype = "bool", shape = 2L)
      )
    )
  })
  for (i in 1:2) {
    out <- dispatch(e$d, list())
    expect_identical(as_array(out$a$data), 7L)
    expect_identical(values(out$b), list(array(numeric(), c(0, 3)), array(c(TRUE, FALSE), 2)))
  }
  expect_identical(compiles(e$d), 1L)
})

test_that("with move_inputs each entry has a device of its own, such as one for each static value", {
  e <- echo(
    compile = function(info) echo_result(info, info$args$where), static = "where", move_inputs = TRUE, default_device = NULL
  )
  x <- anvl(array(1:3))
  for (device in c("cpu:0", "cpu:1", "cpu:0", "cpu:1")) {
    out <- dispatch(e$d, list(x, 2, where = device))
    expect_identical(lapply(out, function(y) device(y$data)), rep(list(pjrt_device(device)), 2))
    expect_identical(values(out), list(array(1:3), 2))
  }
  expect_identical(compiles(e$d), 2L)
  expect_identical(device(x$data), pjrt_device("cpu:0"))
})

test_that("an extractor is no part of the backend pjrt", {
  e <- echo(extractor = function(leaf) stop("asked"))
  expect_identical(values(dispatch(e$d, list(anvl(array(1:3))))), list(array(1:3)))
})

test_that("an input that moves is only copied: the program donates the copy", {
  compile <- function(info) {
    list(
      exec = echo_program("f32", list(4L), pjrt_device("cpu:1"), attributes = " {tf.aliasing_output = 0 : i32}"),
      client = pjrt_client(), device = pjrt_device("cpu:1"), out_tree = build_tree(1),
      out_avals = list(list(dtype = "f32", shape = 4L))
    )
  }
  d <- echo(compile = compile, move_inputs = TRUE, default_device = NULL)$d
  x <- anvl(array(1:4 + 0), "f32")
  for (i in 1:3) expect_identical(as_array(dispatch(d, list(x))$data), array(1:4 + 0))
  expect_identical(as_array(x$data), array(1:4 + 0))
  there <- anvl(array(1:4 + 0), "f32", device = "cpu:1")
  dispatch(d, list(there))
  expect_fault(as_array(there$data), "donated", "the array was donated", "x")
})

test_that("list(list(a), b) and list(list(a, b)) are two programs, each with the right elements", {
  e <- echo()
  a <- anvl(array(1:3))
  b <- anvl(array(4:6))
  for (i in 1:2) {
    expect_identical(values(dispatch(e$d, list(list(a), b))), list(array(1:3), array(4:6)))
    expect_identical(values(dispatch(e$d, list(list(b, a)))), list(array(4:6), array(1:3)))
  }
  expect_identical(compiles(e$d), 2L)
})
