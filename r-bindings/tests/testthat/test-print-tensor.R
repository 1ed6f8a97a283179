# A program that prints its argument and gives it back.
printing <- function(shape, dtype, header = NULL, footer = NULL) {
  config <- c(
    if (!is.null(header)) sprintf("print_header = \"%s\"", header), if (!is.null(footer)) sprintf("print_footer = \"%s\"", footer)
  )
  type <- mlir_type(dtype, shape)
  call <- custom_call(
    "print_tensor", "%a", list(list(shape, dtype)), list(),
    config = paste(config, collapse = ", "), layouts = FALSE, effect = TRUE
  )
  pjrt_compile(pjrt_program(sprintf("func.func @main(%%a: %s) -> %s { %s return %%a : %s }", type, type, call, type)))
}

# What a program prints of an array.
printed <- function(x, dtype, shape = dim(x) %||% length(x), ...) {
  program <- printing(shape, c(bool = "i1", ui8 = "ui8", c64 = "complex<f32>", c128 = "complex<f64>")[dtype] %|% dtype, ...)
  buffer <- pjrt_buffer(x, dtype = dtype, shape = shape)
  capture.output(await(pjrt_execute(program, buffer)))
}
`%|%` <- function(x, y) if (is.na(x)) y else unname(x)

test_that("print_tensor prints an array as R does", {
  for (x in list(array(c(1.5, 2, 3)), matrix(1:6 / 4, 2), array(1:12 / 8, c(2, 3, 2)))) {
    for (dtype in c("f64", "f32", "f16", "bf16")) {
      expect_identical(printed(x, dtype), capture.output(print(x)))
    }
  }
  for (dtype in c("i8", "i16", "i32", "ui8", "ui16")) {
    expect_identical(printed(matrix(1:6, 2), dtype), capture.output(print(matrix(1:6, 2))))
  }
  x <- matrix(c(TRUE, FALSE, TRUE, TRUE), 2)
  expect_identical(printed(x, "bool"), capture.output(print(x)))
  x <- c(1+2i, -1i)
  expect_identical(printed(x, "c128"), capture.output(print(x)))
  expect_identical(printed(x, "c64"), capture.output(print(x)))
  expect_identical(printed(c(1, NaN, Inf), "f64"), capture.output(print(c(1, NaN, Inf))))
  expect_identical(printed(1.25, "f32", shape = integer()), "[1] 1.25")
})

test_that("print_tensor prints what it gets as print() of a buffer does", {
  for (dtype in c("i64", "ui32", "ui64", "f32", "i32", "bool")) {
    for (shape in list(3, c(2, 3), c(2, 2, 3), c(0, 3), c(50, 40), 2000)) {
      x <- pjrt_buffer(seq_len(prod(shape)) %% 2 == 0, dtype = "bool", shape = shape)
      if (dtype != "bool") {
        x <- pjrt_buffer(seq_len(prod(shape)), dtype = dtype, shape = shape)
      }
      program <- printing(shape, if (dtype == "bool") "i1" else dtype)
      expect_identical(
        capture.output(await(pjrt_execute(program, x))),
        capture.output(print(x, header = FALSE))
      )
    }
  }
})

test_that("a header that R cannot hold is an error of the program", {
  e <- expect_error(printed(1, "f32", header = "a\\00b"), class = "pjrtdispatch_error")
  expect_match(conditionMessage(e), "attribute `print_header`: expected a text that R can hold, got one with a NUL", fixed = TRUE)
})

test_that("header and footer are lines around the array", {
  expect_identical(
    printed(c(1, 2), "f32", header = "AnvlArray", footer = "[ CPUf32{2} ]"),
    c("AnvlArray", "[1] 1 2", "[ CPUf32{2} ]")
  )
  expect_identical(printed(c(1, 2), "f32", header = "", footer = ""), "[1] 1 2")
  expect_identical(printed(1, "f32", header = "\u00e9\u20ac %s"), c("\u00e9\u20ac %s", "[1] 1"))
})

test_that("the options of print() are those of print_tensor", {
  old <- options(pjrt.print_max_rows = 2L, pjrt.print_max_width = 20L)
  on.exit(options(old))
  x <- pjrt_buffer(matrix(1:100, 10), dtype = "i32")
  expect_identical(
    capture.output(await(pjrt_execute(printing(c(10, 10), "i32"), x))),
    capture.output(print(x, header = FALSE))
  )
  # One that is wrong does not break the program's call.
  options(pjrt.print_max_rows = "many", pjrt.print_max_width = NULL)
  expect_identical(printed(c(1, 2), "f32"), "[1] 1 2")
})

test_that("what a large program prints on another thread is shown at the next call, once", {
  n <- 256
  type <- mlir_type("f32", c(n, n))
  # Each step is the same matrix.
  steps <- vapply(0:4, function(i) {
    call <- custom_call(
      "print_tensor", sprintf("%%s%d", i), list(list(c(1, 1), "f32")), list(),
      config = sprintf("print_header = \"step %d\"", i), layouts = FALSE, effect = TRUE
    )
    c(
      sprintf("  %%x%d = stablehlo.dot %%x%d, %%x%d : (%s, %s) -> %s", i + 1L, i, i, type, type, type),
      sprintf("  %%s%d = stablehlo.slice %%x%d [0:1, 0:1] : (%s) -> tensor<1x1xf32>", i, i + 1L, type),
      paste0("  ", call)
    )
  }, character(3))
  program <- pjrt_compile(pjrt_program(c(
    sprintf("func.func @main(%%x0: %s) -> %s {", type, type), steps, sprintf("  return %%x5 : %s", type), "}"
  )))
  x <- pjrt_buffer(matrix(1 / n, n, n), dtype = "f32")
  out <- NULL
  lines <- capture.output({
    out <- pjrt_execute(program, x)
    await(out)
  })
  # No print waits for another, so their order is XLA's.
  expect_setequal(grep("step", lines, value = TRUE), sprintf("step %d", 0:4))
  expect_length(lines, 15L)
  expect_identical(lines[c(FALSE, FALSE, TRUE)], rep("[1,] 0.00390625", 5))
  expect_identical(capture.output(await(out)), character())
})

test_that("a call that fails, or is not waited for, prints too", {
  lines <- capture.output({
    pjrt_execute(printing(2, "f32", header = "first"), pjrt_buffer(c(1, 2), dtype = "f32"))
    expect_error(as_array(1))
    Sys.sleep(0.1)
    invisible(is_ready(pjrt_buffer(1)))
  })
  expect_identical(lines, c("first", "[1] 1 2"))
})

test_that("a loop prints each of its steps", {
  call <- custom_call("print_tensor", "%i", list(list(integer(), "i32")), list(), layouts = FALSE, effect = TRUE)
  program <- pjrt_compile(pjrt_program(c(
    "func.func @main(%n: tensor<i32>) -> tensor<i32> {",
    "  %zero = stablehlo.constant dense<0> : tensor<i32>",
    "  %one = stablehlo.constant dense<1> : tensor<i32>",
    "  %r = stablehlo.while(%i = %zero) : tensor<i32>",
    "    cond { %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>",
    "      stablehlo.return %go : tensor<i1> }",
    "    do {", call, "      %next = stablehlo.add %i, %one : tensor<i32>",
    "      stablehlo.return %next : tensor<i32> }",
    "  return %r : tensor<i32>", "}"
  )))
  lines <- capture.output(await(pjrt_execute(program, pjrt_scalar(100L))))
  expect_identical(lines, paste("[1]", 0:99))
})

test_that("a dispatcher prints, and an error of R in between loses nothing", {
  e <- echo(compile = function(info) {
    list(
      exec = printing(2L, "f32", header = "from dispatch"), client = pjrt_client(), device = cpu(),
      out_tree = build_tree(1), out_avals = list(list(dtype = "f32", shape = 2L))
    )
  })
  for (i in 1:2) {
    lines <- capture.output(out <- dispatch(e$d, list(anvl(c(1, 2), "f32"))))
    expect_identical(c(lines, capture.output(await(out$data))), c("from dispatch", "[1] 1 2"))
    expect_identical(as_array(out$data), array(c(1, 2)))
  }
})

test_that("print_tensor refuses what it does not know", {
  program <- function(config) {
    call <- custom_call("print_tensor", "%a", list(list(2, "f32")), list(), config = config, layouts = FALSE, effect = TRUE)
    pjrt_compile(pjrt_program(paste("func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {", call, "return %a : tensor<2xf32> }")))
  }
  run <- function(...) await(pjrt_execute(program(...), pjrt_buffer(c(1, 2), dtype = "f32")))
  expect_error(run("header = \"x\""), "header", class = "pjrtdispatch_error")
  expect_error(run("print_header = 1 : i32"), "print_header.*string.*i32")
})

test_that("what an R function prints comes after what the program has printed before", {
  register_r_handler("t_print_more", function(x) {
    cat("from R\n")
    x
  })
  type <- "tensor<2xf32>"
  program <- pjrt_compile(pjrt_program(c(
    sprintf("func.func @main(%%a: %s) -> %s {", type, type),
    custom_call("print_tensor", "%a", list(list(2, "f32")), list(), layouts = FALSE, effect = TRUE),
    paste("%b =", custom_call("t_print_more", "%a", list(list(2, "f32")), list(list(2, "f32")), layouts = FALSE, effect = TRUE)),
    sprintf("return %%b : %s", type), "}"
  )))
  lines <- capture.output(await(pjrt_execute(program, pjrt_buffer(c(1, 2), dtype = "f32"))))
  # XLA runs these in their order, though it need not.
  expect_identical(lines, c("[1] 1 2", "from R"))
})
