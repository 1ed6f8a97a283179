# Functions that programs call: R functions, C functions (of the package `borrower`) and those of a package's Rust code
# (`families`), which scripts/test-r installs.

# A compiled program that calls a target with arguments of these types, and gives its results.
calling <- function(target, operands, results, attributes = "", more = "") {
  names <- paste0("%a", seq_along(operands))
  given <- paste0("%r", seq_along(results))
  pjrt_compile(pjrt_program(sprintf(
    'func.func @main(%s) -> (%s) { %s "stablehlo.custom_call"(%s) {call_target_name = "%s", api_version = 4 : i32,
      backend_config = {%s}%s} : (%s) -> (%s)\n return%s%s }',
    paste0(names[seq_along(operands)], ": ", operands, collapse = ", "), toString(results),
    if (length(results)) paste(toString(given), "=") else "", toString(names[seq_along(operands)]), target, attributes, more,
    toString(operands), toString(results), if (length(results)) paste0(" ", toString(given)) else "",
    if (length(results)) paste(" :", toString(results)) else ""
  )))
}

vector3 <- mlir_type("f32", 3)

test_that("an R function is called with R's arrays, and gives the results", {
  seen <- NULL
  register_r_handler("t_sum_and_rest", function(x, y, z) {
    seen <<- list(x, y, z)
    list(x + y, z == 2L)
  })
  types <- c(mlir_type("f64", c(2, 3)), mlir_type("f32", c(2, 3)), mlir_type("i32", integer()))
  call <- calling("t_sum_and_rest", types, c(mlir_type("f64", c(2, 3)), mlir_type("bool", integer())))
  x <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  out <- pjrt_execute(call, pjrt_buffer(x, dtype = "f64"), pjrt_buffer(10 * x), pjrt_scalar(2L))
  expect_identical(seen, list(x, 10 * x, 2L))
  expect_identical(as_array(out[[1]]), 11 * x)
  expect_identical(as_array(out[[2]]), TRUE)
})

test_that("attributes are a named list", {
  seen <- NULL
  register_r_handler("t_attributes", function(x, attributes) {
    seen <<- attributes
    x * attributes$scale
  })
  attributes <- 'scale = 2.5 : f32, n = 3 : i32, flag = true, name = "\\C3\\A9", v = array<i32: 1, 2>, inner = {a = 1.0 : f64}'
  call <- calling("t_attributes", vector3, vector3, attributes)
  expect_identical(as.vector(as_array(pjrt_execute(call, pjrt_buffer(c(1, 2, 3))))), c(2.5, 5, 7.5))
  expect_identical(
    seen[order(names(seen))],
    list(flag = TRUE, inner = list(a = 1), n = 3L, name = "\u00e9", scale = 2.5, v = 1:2)
  )
  register_r_handler("t_no_attributes", function(x) x)
  call <- calling("t_no_attributes", vector3, vector3, "scale = 1 : i32")
  expect_error(
    pjrt_execute(call, pjrt_buffer(1:3, dtype = "f32")),
    "`t_no_attributes`: the call has attributes (scale), and the function no argument `attributes`",
    fixed = TRUE
  )
})

test_that("what an R function returns is checked", {
  returns <- function(value, results = vector3) {
    force(value)
    register_r_handler("t_returns", function(x) value)
    tryCatch(
      {
        lapply(pjrt_execute(calling("t_returns", vector3, results), pjrt_buffer(c(1, 2, 3)), simplify = FALSE), await)
        "none"
      },
      pjrtdispatch_error = function(e) sub(".*`t_returns`: ", "", conditionMessage(e))
    )
  }
  wanted <- "argument `value`: expected what becomes f32[3], got "
  expect_match(returns(NULL), paste0(wanted, "NULL"), fixed = TRUE)
  expect_match(returns("a"), paste0(wanted, "a string"), fixed = TRUE)
  expect_match(returns(c(1, 2)), paste0(wanted, "double data of the dimensions (2)"), fixed = TRUE)
  expect_match(returns(matrix(1:3, 1)), paste0(wanted, "integer data of the dimensions (1, 3)"), fixed = TRUE)
  expect_match(returns(c(TRUE, FALSE, NA)), paste0(wanted, "logical data, which become bool only"), fixed = TRUE)
  expect_match(returns(list(1:3, 1:3)), "argument `value`: expected an array, or a list of one, got a list", fixed = TRUE)
  expect_match(returns(1:3, c(vector3, vector3)), "expected a list of 2 arrays, got an integer vector", fixed = TRUE)
  expect_match(
    returns(list(1:3, 1:2), c(vector3, vector3)),
    "argument `value[[2]]`: expected what becomes f32[3], got integer data of the dimensions (2)",
    fixed = TRUE
  )
  expect_match(returns(c(1, 300, 2), mlir_type("i8", 3)), "`value", fixed = TRUE)
  expect_identical(returns(1:3), "none")
  expect_identical(returns(list(1:3)), "none")
  expect_identical(returns(7, mlir_type("f32", integer())), "none")
})

test_that("an error in an R function is that of the program, and R goes on", {
  register_r_handler("t_fails", function(x) stop("no ", length(x), " today"))
  call <- calling("t_fails", vector3, vector3)
  e <- expect_error(pjrt_execute(call, pjrt_buffer(c(1, 2, 3))), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "`t_fails`: no 3 today", fixed = TRUE)
  register_r_handler("t_warns", function(x) {
    warning("once")
    x
  })
  expect_warning(out <- pjrt_execute(calling("t_warns", vector3, vector3), pjrt_buffer(c(1, 2, 3))), "once")
  expect_identical(as.vector(as_array(out)), c(1, 2, 3))
})

test_that("an error in an R function has a message in any case, and is never an answer", {
  text <- function(message) {
    register_r_handler("t_odd", function(x) {
      stop(structure(class = c("odd", "error", "condition"), list(message = message, call = NULL)))
    })
    e <- expect_error(as_array(pjrt_execute(calling("t_odd", vector3, vector3), pjrt_buffer(c(1, 2, 3)))))
    sub(".*`t_odd`: ", "", conditionMessage(e))
  }
  none <- "an error without a message (of class odd, error, condition)"
  expect_identical(text(list(c(9, 9, 9))), none)
  expect_identical(text(NULL), none)
  expect_identical(text(1), none)
  expect_identical(text(NA_character_), none)
  expect_identical(text(""), none)
  expect_identical(text(c("two", "lines")), "two\nlines")
  expect_identical(text("a\xff\xfeb"), "a<ff><fe>b")
  bytes <- "a\xff"
  Encoding(bytes) <- "bytes"
  expect_match(text(bytes), "^a.+ff")
  expect_identical(text("\u00e9"), "\u00e9")
  latin1 <- "\xe9"
  Encoding(latin1) <- "latin1"
  expect_identical(text(latin1), "\u00e9")
})

# The ways by which R leaves a function other than its end or an error.
ways_out <- function(run) {
  leave <- function(f) {
    register_r_handler("t_leaves", f)
    run()
  }
  expect_identical(tryCatch(leave(function(x) warning("w1")), warning = conditionMessage), "w1")
  expect_identical(tryCatch(leave(function(x) message("m1")), message = conditionMessage), "m1\n")
  signals <- function(x) signalCondition(structure(class = c("own", "condition"), list(message = "c1", call = NULL)))
  expect_identical(tryCatch(leave(signals), own = conditionMessage), "c1")
  expect_identical(withRestarts(leave(function(x) invokeRestart("out", "r1")), out = identity), "r1")
  expect_identical(callCC(function(k) leave(function(x) k("k1"))), "k1")
  # Sent by the function, handled at R's next look.
  interrupts <- function(x) {
    tools::pskill(Sys.getpid(), tools::SIGINT)
    for (i in 1:100) Sys.sleep(0.01)
    x
  }
  expect_identical(tryCatch(leave(interrupts), error = function(e) "an error", interrupt = function(i) "i1"), "i1")
  # Neither cut off nor seen by those who only listen.
  expect_identical(suppressWarnings(leave(function(x) {
    warning("w2")
    x + 1
  })), c(2, 3, 4))
}

test_that("R leaves an R function by any way, over the program that called it", {
  register_r_handler("t_leaves", identity)
  call <- calling("t_leaves", vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  ways_out(function() as.vector(as_array(pjrt_execute(call, x))))
  f <- echo(compile = function(info) {
    result <- echo_result(info, "cpu:0")
    result$exec <- call
    result
  })$d
  ways_out(function() as.vector(as_array(dispatch(f, list(anvl(c(1, 2, 3))))[[1]]$data)))
  skip_if_not_installed("families")
  elsewhere <- asNamespace("families")$elsewhere
  ways_out(function() as.vector(as_array(elsewhere(anvl(c(1, 2, 3)), "t_leaves"))))
})

test_that("R leaves programs within programs, and the one further out goes on if it handles that", {
  register_r_handler("t_inner", identity)
  register_r_handler("t_outer", identity)
  inner <- calling("t_inner", vector3, vector3)
  outer <- calling("t_outer", vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  register_r_handler("t_inner", function(x) warning("deep"))
  ended <- FALSE
  register_r_handler("t_outer", function(x) {
    on.exit(ended <<- TRUE)
    as_array(pjrt_execute(inner, pjrt_buffer(as.vector(x))))
  })
  expect_identical(tryCatch(pjrt_execute(outer, x), warning = conditionMessage), "deep")
  expect_true(ended)
  register_r_handler("t_outer", function(x) {
    tryCatch(as_array(pjrt_execute(inner, pjrt_buffer(as.vector(x)))), warning = function(w) 2 * x)
  })
  expect_identical(as.vector(as_array(pjrt_execute(outer, x))), c(2, 4, 6))
  # An error that is signalled further in is one of the program there.
  register_r_handler("t_inner", function(x) stop("deep"))
  register_r_handler("t_outer", function(x) {
    tryCatch(as_array(pjrt_execute(inner, pjrt_buffer(as.vector(x)))), error = function(e) -x)
  })
  expect_identical(as.vector(as_array(pjrt_execute(outer, x))), c(-1, -2, -3))
  old <- gctorture2(50)
  on.exit(gctorture2(old))
  register_r_handler("t_inner", function(x) warning("deep"))
  register_r_handler("t_outer", function(x) as_array(pjrt_execute(inner, pjrt_buffer(as.vector(x)))))
  caught <- vapply(1:5, function(i) tryCatch(pjrt_execute(outer, x), warning = conditionMessage), "")
  gctorture2(old)
  expect_identical(caught, rep("deep", 5))
})

test_that("of two functions that a program calls, one that R leaves ends it", {
  count <- 0
  register_r_handler("t_twice", function(x) {
    count <<- count + 1
    warning("first")
  })
  text <- "func.func @main(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %b = stablehlo.custom_call @t_twice(%a) {api_version = 4 : i32, has_side_effect = true} : (tensor<3xf32>) -> tensor<3xf32>
    %c = stablehlo.custom_call @t_twice(%a) {api_version = 4 : i32, has_side_effect = true} : (tensor<3xf32>) -> tensor<3xf32>
    return %b, %c : tensor<3xf32>, tensor<3xf32> }"
  call <- pjrt_compile(pjrt_program(text))
  for (i in 1:3) {
    expect_identical(tryCatch(pjrt_execute(call, pjrt_buffer(c(1, 2, 3))), warning = conditionMessage), "first")
    expect_equal(count, i)
  }
})

test_that("R computes in R functions as elsewhere, with subnormal numbers", {
  seen <- NULL
  register_r_handler("t_small", function(x) {
    seen <<- c(x, 5e-324 * 2, as.numeric("1e-310"), exp(-720), dnorm(38), x > 0)
    x * 2
  })
  type <- mlir_type("f64", 3)
  x <- c(5e-324, 1e-310, 1)
  out <- as_array(pjrt_execute(calling("t_small", type, type), pjrt_buffer(x, dtype = "f64")))
  expect_identical(as.vector(out), x * 2)
  expect_identical(seen, c(x, 5e-324 * 2, as.numeric("1e-310"), exp(-720), dnorm(38), 1, 1, 1))
  # Those of f32, which are none in R, are copied as they are.
  single <- mlir_type("f32", 1)
  register_r_handler("t_small", function(x) {
    seen <<- x
    x
  })
  out <- as_array(pjrt_execute(calling("t_small", single, single), pjrt_buffer(2^-149, dtype = "f32")))
  expect_identical(c(seen, out), c(2^-149, 2^-149))
})

test_that("the call of an R function has names and no data", {
  seen <- NULL
  register_r_handler("t_call", function(x, ..., attributes) {
    seen <<- sys.call()
    x
  })
  types <- c(vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  pjrt_execute(calling("t_call", types, vector3), x, x)
  expect_identical(seen, quote(f(operand1, operand2, attributes = attributes)))
  why <- function(f) {
    register_r_handler("t_call", f)
    e <- expect_error(as_array(pjrt_execute(calling("t_call", types, vector3), x, x)))
    sub(".*`t_call`: ", "", conditionMessage(e))
  }
  expect_identical(why(function() 1), "the call has 2 operands, and the function takes none")
  expect_identical(why(function(x, attributes) 1), "the call has 2 operands, and the function takes 1")
  expect_identical(why(exp), "the call has 2 operands, and the function takes 1")
  register_r_handler("t_call", `+`)
  expect_identical(as.vector(as_array(pjrt_execute(calling("t_call", types, vector3), x, x))), c(2, 4, 6))
  e <- expect_error(as_array(pjrt_execute(calling("t_call", types, vector3, "scale = 2.0 : f32"), x, x)))
  expect_match(conditionMessage(e), "the call has attributes (scale), and the function no argument", fixed = TRUE)
})

test_that("attributes are given to who has an argument of that name, and to nobody else", {
  types <- c(vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  seen <- NULL
  register_r_handler("t_dots", function(...) {
    seen <<- list(...)
    pmax(...)
  })
  out <- pjrt_execute(calling("t_dots", types, vector3), x, pjrt_buffer(c(3, 2, 1)))
  expect_identical(as.vector(as_array(out)), c(3, 2, 3))
  expect_length(seen, 2)
  e <- expect_error(as_array(pjrt_execute(calling("t_dots", types, vector3, "scale = 2.0 : f32"), x, x)))
  expect_match(conditionMessage(e), "the call has attributes (scale), and the function no argument", fixed = TRUE)
  register_r_handler("t_dots", function(attributes, ...) ...length() + c(0, 0, attributes$scale))
  out <- pjrt_execute(calling("t_dots", types, vector3, "scale = 2.0 : f32"), x, x)
  expect_identical(as.vector(as_array(out)), c(2, 2, 4))
})

test_that("an attribute with a NUL is an error that says so", {
  register_r_handler("t_nul", function(x, attributes) x)
  e <- expect_error(as_array(pjrt_execute(calling("t_nul", vector3, vector3, 'a = "x\\00y"'), pjrt_buffer(c(1, 2, 3)))))
  expect_match(conditionMessage(e), "`t_nul`: attribute `a` is a string with a NUL, which strings of R cannot hold", fixed = TRUE)
})

test_that("an interrupt in an R function is R's, once the program has ended", {
  out <- run_r(c(
    "register_r_handler('slow', function(x) {",
    "  tools::pskill(Sys.getpid(), tools::SIGINT)",
    "  for (i in 1:100) Sys.sleep(0.05)",
    "  x",
    "})",
    "text <- 'func.func @main(%a: tensor<f32>) -> tensor<f32> {",
    "  %b = stablehlo.custom_call @slow(%a) {api_version = 4 : i32, backend_config = {}} : (tensor<f32>) -> tensor<f32>",
    "  return %b : tensor<f32> }'",
    "f <- pjrt_compile(pjrt_program(text))",
    "out <- 'none'",
    "tryCatch(for (i in 1:1000) try(await(pjrt_execute(f, pjrt_scalar(1)))), interrupt = function(i) out <<- 'interrupted')",
    "cat(out == 'interrupted')"
  ))
  expect_identical(out[c("out", "status")], list(out = "TRUE", status = 0L))
})

test_that("on a thread of XLA's an R function is an error that says so", {
  register_r_handler("t_pool", function(x) x)
  text <- "
    func.func @main(%a: tensor<600x600xf32>) -> tensor<600x600xf32> {
      %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
      %c = stablehlo.custom_call @t_pool(%b) {api_version = 4 : i32, backend_config = {}} : (tensor<600x600xf32>) -> tensor<600x600xf32>
      %d = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : (tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>
      return %d : tensor<600x600xf32>
    }"
  call <- pjrt_compile(pjrt_program(text))
  e <- expect_error(as_array(pjrt_execute(call, pjrt_buffer(diag(600)))), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "`t_pool` is an R function, which runs on R's own thread only", fixed = TRUE)
})

test_that("an R function is replaced by the next one of its name, also in programs that are there", {
  register_r_handler("t_replaced", function(x) x + 1)
  call <- calling("t_replaced", vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  expect_identical(as.vector(as_array(pjrt_execute(call, x))), c(2, 3, 4))
  for (i in 2:20) {
    local({
      n <- i
      register_r_handler("t_replaced", function(x) x + n)
    })
    if (i %% 5 == 0) gc()
    expect_identical(as.vector(as_array(pjrt_execute(call, x))), c(1, 2, 3) + i)
  }
})

test_that("R's collector may run in an R function, and programs too", {
  register_r_handler("t_collects", function(x) {
    gc()
    inner <- pjrt_execute(echo_program("f32", list(3L)), pjrt_buffer(as.vector(x)))
    gc()
    as_array(inner) + 1
  })
  call <- calling("t_collects", vector3, vector3)
  f <- echo(compile = function(info) {
    result <- echo_result(info, "cpu:0")
    result$exec <- call
    result
  })$d
  x <- anvl(c(1, 2, 3))
  for (i in 1:3) {
    expect_identical(as.vector(as_array(pjrt_execute(call, x$data))), c(2, 3, 4))
    expect_identical(as.vector(as_array(dispatch(f, list(x))[[1]]$data)), c(2, 3, 4))
  }
  old <- gctorture2(20)
  on.exit(gctorture2(old))
  out <- as_array(dispatch(f, list(x))[[1]]$data)
  gctorture2(old)
  expect_identical(as.vector(out), c(2, 3, 4))
})

test_that("a program that names no registered target says which there are", {
  register_r_handler("t_there", function(x) x)
  e <- expect_error(calling("t_not_there", vector3, vector3), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "t_not_there", fixed = TRUE)
  expect_match(conditionMessage(e), "t_there", fixed = TRUE)
})

test_that("wrong arguments are errors by name", {
  expect_fault(register_r_handler("t_x", 1), "type", "argument `f`: expected a function, got a double value", "f")
  expect_fault(register_r_handler("", identity), "value", "argument `name`: expected the name of a target, got an empty string", "name")
  expect_error(register_r_handler(1, identity), "argument `name`: expected a string, got a double value", fixed = TRUE)
  expect_error(pjrt_register_custom_call(NULL, list()), "argument `target_name`: expected a string, got NULL", fixed = TRUE)
  register <- function(handler) pjrt_register_custom_call("t_wrong", handler)
  expect_error(
    register(list(host = pjrt_buffer(1))),
    "argument `handler$host`: expected an external pointer to an XLA FFI handler, got a PJRTBuffer", fixed = TRUE
  )
  expect_error(register(1), "argument `handler`: expected a list", fixed = TRUE)
  expect_error(register(list()), "argument `handler`: expected a named list of external pointers", fixed = TRUE)
  expect_error(register(list(1)), "argument `handler`: expected names for all elements", fixed = TRUE)
  expect_error(
    register(list(host = 1)), "argument `handler$host`: expected an external pointer to an XLA FFI handler, got a double value",
    fixed = TRUE
  )
  expect_error(
    register(list(host = methods::new("externalptr"))), "argument `handler$host`: expected an external pointer to an XLA FFI",
    fixed = TRUE
  )
  # None is registered if one is wrong.
  if (is_installed("borrower")) {
    borrower <- asNamespace("borrower")
    expect_error(register(list(host = borrower$handler(), cuda = NULL)), "argument `handler$cuda`", fixed = TRUE)
    expect_error(
      register(list(host = borrower$handler(), cpu = borrower$handler())),
      "argument `handler`: expected one pointer for each platform, got \"host\" and \"cpu\"", fixed = TRUE
    )
    expect_error(
      pjrt_register_custom_call("t_wrong", list(host = borrower$handler()), .package = ""),
      "argument `.package`: expected the name of a package, got an empty string", fixed = TRUE
    )
    expect_null(borrower$owner_of("t_wrong"))
  }
  expect_error(
    pjrt_register_custom_call("t_wrong", list(host = 1), .package = 2), "argument `.package`: expected a string, got a double",
    fixed = TRUE
  )
})

test_that("a C function is registered by a pointer, for its package", {
  skip_if_not_installed("borrower")
  borrower <- asNamespace("borrower")
  borrower$register_own("t_c_twice")
  expect_identical(borrower$owner_of("t_c_twice"), "package borrower")
  call <- calling("t_c_twice", vector3, vector3)
  x <- pjrt_buffer(c(1, 2, 3))
  expect_identical(as.vector(as_array(pjrt_execute(call, x))), c(2, 4, 6))
  # The same again, and another one of the same package.
  borrower$register_own("t_c_twice")
  borrower$register_own("t_c_twice", thrice = TRUE)
  expect_identical(as.vector(as_array(pjrt_execute(call, x))), c(3, 6, 9))
  e <- expect_error(
    pjrt_register_custom_call("t_c_twice", list(host = borrower$handler()), .package = "other"),
    class = "pjrtdispatch_error"
  )
  expect_match(conditionMessage(e), "package borrower", fixed = TRUE)
  expect_match(conditionMessage(e), "package other", fixed = TRUE)
  expect_error(
    pjrt_register_custom_call("t_c_tpu", list(tpu = borrower$handler())),
    "argument `handler`: expected names of platforms, \"host\" or \"cuda\", got \"tpu\"", fixed = TRUE
  )
})

test_that("the C table registers, tells and removes", {
  skip_if_not_installed("borrower")
  borrower <- asNamespace("borrower")
  expect_identical(borrower$register("t_c_data"), "")
  expect_identical(borrower$owner_of("t_c_data"), "the borrower")
  expect_null(borrower$owner_of("t_c_data2"))
  call <- calling("t_c_data", vector3, vector3)
  expect_identical(as.vector(as_array(pjrt_execute(call, pjrt_buffer(c(1, 2, 3))))), c(4, 8, 12))
  # Assigned, for testthat may ask twice.
  refused <- borrower$register("t_c_data", owner = "another")
  expect_match(refused, "of the borrower is registered under it, and `with_data` of another is another", fixed = TRUE)
  refused <- borrower$register("t_c_data", platform = "tpu")
  expect_match(refused, "got \"tpu\"", fixed = TRUE)
  released <- borrower$remove_of("nobody")[[2]]
  # Those two were refused.
  expect_identical(released, 2L)
  expect_identical(borrower$remove_of("the borrower", "t_c_other"), c(0L, 2L))
  expect_identical(borrower$remove_of("the borrower", "t_c_data"), c(1L, 3L))
  expect_null(borrower$owner_of("t_c_data"))
  e <- expect_error(await(pjrt_execute(call, pjrt_buffer(c(1, 2, 3)))), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "the borrower, which registered it, was unloaded or removed it", fixed = TRUE)
})

test_that("what is registered before the plugin is loaded is there with it, and starts nothing", {
  skip_if_not_installed("borrower")
  out <- run_r(c(
    "library(pjrtdispatch)",
    "register_r_handler('early', function(x) x + 1)",
    "borrower::register_own('early_c')",
    "stopifnot(!any(grepl('pjrt.*cpu', readLines('/proc/self/maps')) & grepl('xla', readLines('/proc/self/maps'))))",
    "text <- 'func.func @main(%a: tensor<f32>) -> tensor<f32> {",
    "  %b = stablehlo.custom_call @early(%a) {api_version = 4 : i32, backend_config = {}} : (tensor<f32>) -> tensor<f32>",
    "  %c = stablehlo.custom_call @early_c(%b) {api_version = 4 : i32, backend_config = {}} : (tensor<f32>) -> tensor<f32>",
    "  return %c : tensor<f32> }'",
    "cat(as_array(pjrt_execute(pjrt_compile(pjrt_program(text)), pjrt_scalar(1))))"
  ))
  expect_identical(out[c("out", "status")], list(out = "4", status = 0L))
})

test_that("a package that is unloaded takes its targets along, and brings them back", {
  skip_if_not_installed("borrower")
  out <- run_r(c(
    "library(pjrtdispatch)",
    "borrower::register_own('parting')",
    "text <- 'func.func @main(%a: tensor<f32>) -> tensor<f32> {",
    "  %b = stablehlo.custom_call @parting(%a) {api_version = 4 : i32, backend_config = {}} : (tensor<f32>) -> tensor<f32>",
    "  return %b : tensor<f32> }'",
    "f <- pjrt_compile(pjrt_program(text))",
    "call <- function() tryCatch(as_array(pjrt_execute(f, pjrt_scalar(1))), error = function(e) conditionMessage(e))",
    "a <- call()",
    "unloadNamespace('borrower')",
    "b <- call()",
    "borrower::register_own('parting', TRUE)",
    "cat(a, grepl('package borrower, which registered it, was unloaded', b), call())"
  ))
  expect_identical(out[c("out", "status")], list(out = "2 TRUE 3", status = 0L))
})

test_that("the handlers of a package's Rust code are there when it is loaded", {
  skip_if_not_installed("families")
  families <- asNamespace("families")
  expect_equal(as.vector(as_array(families$rotated(c(1, 2), c(10, 20, 30, 40), 3))), c(13, 26, 33, 46))
  # Of R's own programs too.
  types <- c(mlir_type("f32", 2), mlir_type("f32", 4))
  call <- calling("families_rotate_add", types, types[[2]], "scale = 2.0 : f32")
  out <- pjrt_execute(call, pjrt_buffer(c(1, 2)), pjrt_buffer(c(10, 20, 30, 40)))
  expect_identical(as.vector(as_array(out)), c(12, 24, 32, 44))
})

test_that("a package whose target another owner has does not load, and says why", {
  skip_if_not_installed("families")
  out <- run_r(c(
    "register_r_handler('families_rotate_add', identity)",
    "why <- tryCatch(loadNamespace('families'), error = conditionMessage)",
    "cat(grepl('register_r_handler()', why, fixed = TRUE), grepl('package families', why, fixed = TRUE))",
    "cat('', isNamespaceLoaded('families'))"
  ))
  expect_identical(out[c("out", "status")], list(out = "TRUE TRUE FALSE", status = 0L))
})

test_that("a package's Rust code checks the calls of its handlers, and their errors arrive", {
  skip_if_not_installed("families")
  families <- asNamespace("families")
  e <- expect_error(as_array(families$rotated(numeric(), c(1, 2))), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "`b` is empty", fixed = TRUE)
  skip_if_not_installed("borrower")
  expect_identical(asNamespace("borrower")$owner_of("families_rotate_add"), "package families")
})
