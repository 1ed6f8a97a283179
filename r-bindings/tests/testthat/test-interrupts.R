# In processes of their own: code that interrupts itself after a while, as Ctrl-C would.
interrupts <- '
  # A program that takes the compiler seconds.
  slow <- function(n = 6000) {
    ops <- rep_len(c("sine", "cosine", "tanh", "exponential"), n)
    lines <- sprintf("%%v%d = stablehlo.%s %%v%d : tensor<64x64xf32>", seq_len(n), ops, seq_len(n) - 1L)
    pjrt_program(c(
      "module @slow {", "func.func @main(%v0: tensor<64x64xf32>) -> tensor<64x64xf32> {", lines,
      sprintf("return %%v%d : tensor<64x64xf32> }", n), "}"
    ))
  }
  quick <- function() pjrt_program("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")
  # A product of matrices, again and again: this runs in the background.
  long <- function(times = 100000) {
    text <- "func.func @main(%a: tensor<KxKxf32>) -> tensor<KxKxf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<KxKxf32> cond {
        %m = stablehlo.constant dense<TIMES> : tensor<i32>
        %c = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
          : (tensor<KxKxf32>, tensor<KxKxf32>) -> tensor<KxKxf32>
        stablehlo.return %j, %y : tensor<i32>, tensor<KxKxf32>
      }
      return %r#1 : tensor<KxKxf32>
    }"
    text <- gsub("TIMES", as.integer(times), gsub("K", "600", text))
    pjrt_execute(pjrt_compile(pjrt_program(text)), pjrt_buffer(0, shape = c(600, 600)))
  }
  # Interrupts an expression, and says what became of it and whether it ended soon after.
  interrupted <- function(expr, after = 0.7) {
    system(sprintf("(sleep %.1f; kill -INT %d) &", after, Sys.getpid()))
    started <- Sys.time()
    out <- tryCatch(expr, interrupt = function(e) "interrupted", error = conditionMessage)
    passed <- as.numeric(Sys.time() - started, units = "secs")
    # The signal is still to come if the expression was done before it.
    if (!identical(out, "interrupted")) tryCatch(Sys.sleep(60), interrupt = identity)
    cat(if (is.character(out)) out else class(out), if (passed < after + 5) "at once" else passed, "\\n")
    invisible(out)
  }
'

test_that("a compile can be interrupted, and the session goes on and ends well meanwhile", {
  skip_on_os("windows")
  run <- run_r(c(interrupts, '
    interrupted(pjrt_compile(slow()))
    add <- pjrt_compile(quick())
    cat(as_array(pjrt_execute(add, pjrt_buffer(c(1, 2, 3, 4)))), "\n")
    q(status = 7)'))
  expect_identical(run$out, c("interrupted at once ", "1 2 3 4 "))
  expect_identical(run$err, "")
  expect_identical(run$status, 7L)
})

test_that("an interrupted miss keeps nothing, and the call can be made again", {
  skip_on_os("windows")
  run <- run_r(c(interrupts, '
    program <- slow
    waits <- FALSE
    d <- dispatcher(8L, function(info) {
      if (waits) Sys.sleep(20)
      list(
        exec = pjrt_compile(program()), client = pjrt_client(), device = pjrt_device("cpu"),
        out_tree = build_tree(1), out_avals = list(list(dtype = "f32", shape = 4L))
      )
    }, default_device = function() pjrt_device("cpu"))
    x <- structure(list(data = pjrt_buffer(c(1, 2, 3, 4)), backend = "pjrt"), class = "AnvlArray")
    interrupted(dispatch(d, list(x)))
    waits <- TRUE
    interrupted(dispatch(d, list(x)))
    waits <- FALSE
    print(dispatcher_size(d))
    program <- quick
    cat(as_array(dispatch(d, list(x))$data), dispatcher_size(d), "\n")'))
  expect_identical(run$out, c("interrupted at once ", "interrupted at once ", "[1] 0", "1 2 3 4 1 "))
  expect_identical(run$status, 0L)
})

test_that("whatever waits for a buffer can be interrupted, and a computation may be under way at the end", {
  skip_on_os("windows")
  run <- run_r(c(interrupts, '
    x <- long()
    cat("ready:", is_ready(x), "\n")
    promise <- as_array_async(x)
    array <- structure(list(data = x, backend = "pjrt"), class = "AnvlArray")
    for (wait in list(as_array, as_raw, await, print, format_buffer, function(x) copy_buffer(x, "cpu:1"))) {
      interrupted(if (identical(wait, as_raw)) wait(x, TRUE) else wait(x), 0.3)
    }
    interrupted(value(promise), 0.3)
    interrupted(await(promise), 0.3)
    interrupted(as_array(array), 0.3)
    interrupted(as.numeric(array), 0.3)
    release(x)
    cat(as_array(pjrt_buffer(c(1, 2, 3))), "\n")
    q(status = 7)'), "PJRT_CPU_DEVICE_COUNT=2")
  expect_identical(run$out[[1]], "ready: FALSE ")
  # A copy to another device waits for nothing.
  waits <- grep("at once", run$out, value = TRUE)
  expect_identical(waits, c(rep("interrupted at once ", 5), "PJRTBuffer at once ", rep("interrupted at once ", 4)))
  expect_identical(run$out[[length(run$out)]], "1 2 3 ")
  expect_identical(run$status, 7L)
})

test_that("the end does not mind a computation that nobody awaited", {
  # Without care some of these crash.
  for (i in seq_len(if (is_long()) 25 else 5)) {
    run <- run_r(c(interrupts, sprintf("x <- long(); Sys.sleep(%f); cat(is_ready(x)); q(status = 7)", 0.05 * (i %% 5))))
    expect_identical(run[c("out", "status")], list(out = "FALSE", status = 7L))
  }
})

test_that("a compile that takes long is shown in an interactive session, and the line goes away", {
  skip_on_os("windows")
  code <- c(interrupts, '
    options(pjrtdispatch.verbose = TRUE)
    d <- dispatcher(8L, function(info) pjrt_compile(slow()), static = "n", default_device = function() pjrt_device("cpu"))
    interrupted(dispatch(d, list(a = list(2), n = 3L)), 2.3)
    invisible(pjrt_compile(quick()))')
  shown <- run_r(code, interactive = TRUE)
  lines <- strsplit(shown$err, "\r", fixed = TRUE)[[1]]
  what <- "slow \\(6004 lines\\), for a\\[\\[1\\]\\] bare"
  expect_match(lines, paste0("^compiling for 1 s, Ctrl-C ends it: ", what), all = FALSE)
  expect_match(lines, "compiling for 2 s, ", all = FALSE)
  expect_true(all(nchar(lines) < 80))
  # Nothing is left of it in front of what comes next.
  expect_match(lines[length(lines) - 1L], "^ +$")
  expect_match(lines[length(lines)], "^pjrtdispatch: compiled a program of 1 line for cpu:0 in [0-9.]+ s\n$")
  expect_match(shown$out, "^interrupted at once", all = FALSE)
  expect_no_match(run_r(code)$err, "compiling")
})
