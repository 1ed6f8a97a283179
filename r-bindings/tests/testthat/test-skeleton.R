identity_of <- function(types, attribute = "") {
  names <- letters[23 + seq_along(types)]
  pjrt_program(sprintf(
    "func.func @main(%s) -> (%s) { return %s : %s }", paste0("%", names, ": ", types, attribute, collapse = ", "),
    toString(types), paste0("%", names, collapse = ", "), toString(types)
  ))
}
two <- function(...) pjrt_skeleton(identity_of(c("tensor<4xf32>", "tensor<i32>")), ...)
values <- function(results) lapply(results, function(x) as.vector(as_array(x)))
anvl <- function(x, backend = "pjrt") structure(list(data = x, backend = backend), class = "AnvlArray")

test_that("inputs go to the slots of their names, the others in order", {
  s <- two()
  expected <- list(c(1, 2, 3, 4), 7L)
  expect_identical(values(run(s, 1:4, 7)), expected)
  expect_identical(values(run(s, x = 1:4, y = 7)), expected)
  expect_identical(values(run(s, y = 7, x = 1:4)), expected)
  expect_identical(values(run(s, y = 7, 1:4)), expected)
  expect_identical(values(run(s, 7, x = 1:4)), expected)
  expect_identical(values(do.call(run, list(s, x = 1:4, 7L))), expected)
})

test_that("inputs are buffers, arrays of anvl, and R's data", {
  s <- two()
  b <- pjrt_buffer(c(1, 2, 3, 4))
  for (x in list(b, anvl(b), 1:4, c(1, 2, 3, 4), array(1:4), bit64::as.integer64(1:4))) {
    expect_identical(values(run(s, x, pjrt_scalar(7L))), list(c(1, 2, 3, 4), 7L))
  }
  m <- pjrt_skeleton(identity_of("tensor<2x3xf64>"))
  expect_identical(as_array(run(m, matrix(1:6 / 10, 2))), matrix(1:6 / 10, 2))
  expect_identical(as_array(run(pjrt_skeleton(identity_of("tensor<2xi1>")), c(TRUE, FALSE))), array(c(TRUE, FALSE)))
  expect_identical(as_array(run(pjrt_skeleton(identity_of("tensor<1xf32>")), 5)), array(5))
  expect_identical(as_array(run(pjrt_skeleton(identity_of("tensor<0xf32>")), numeric())), array(numeric()))
  # A missing value has its place in a type of fractions only.
  expect_identical(as.vector(as_array(run(s, c(NA, 1L, 2L, 3L), 1)[[1]])), c(NaN, 1, 2, 3))
  # Rounded to the nearest, as everywhere.
  expect_identical(as_array(run(s, rep(0.1, 4), 1)[[1]])[1], as_array(pjrt_scalar(0.1, "f32")))
})

test_that("one result is a buffer, others are a list", {
  one <- run(pjrt_skeleton(identity_of("tensor<2xf32>")), c(1, 2))
  expect_s3_class(one, "PJRTBuffer", exact = TRUE)
  expect_length(run(two(), 1:4, 1), 2L)
  none <- pjrt_skeleton("func.func @main(%x: tensor<f32>) { return }")
  expect_identical(run(none, 1), list())
  constant <- pjrt_skeleton("func.func @main() -> tensor<f32> {
    %0 = stablehlo.constant dense<4.5> : tensor<f32>
    return %0 : tensor<f32>
  }")
  expect_identical(as_array(run(constant)), 4.5)
})

test_that("inputs that do not fit the slots are errors by their names, before anything runs", {
  s <- two()
  refused <- function(..., code, message, argument = NULL) {
    condition <- expect_fault(run(s, ...), code, message, argument)
    expect_identical(condition$call[[1L]], quote(run))
  }
  refused(1:4, code = "argument_count", message = "the skeleton takes 2 arguments, got 1; argument `y` is missing, i32[]")
  refused(y = 1, code = "argument_count", message = "argument `x` is missing, f32[4]")
  refused(code = "argument_count", message = "got 0; argument `x` is missing, f32[4]")
  refused(1:4, 1, 2, code = "argument_count", message = "got 3; argument 3 is one too many")
  refused(x = 1:4, 1, 2, code = "argument_count", message = "got 3")
  refused(z = 1, 1:4, code = "argument", message = "unused argument `z`: the skeleton has the slots `x`, `y`")
  refused(x = 1:4, x = 1:4, code = "argument", message = "argument `x`: expected one input, got two of this name", argument = "x")
  refused(1:4, NA_integer_, code = "value", message = "argument `y`: expected no missing values, which i32 does not hold", argument = "y")
  refused(1:4, NA_real_, code = "value", message = "argument `y`: expected no missing values", argument = "y")
  refused(1:4, 1.5, code = "value", message = "argument `y`: expected an integer from -2147483648 to 2147483647 (i32), got 1.5")
  refused(c(1, 2, 3, 1e300), 1, code = "value", message = "argument `x`: expected a magnitude of at most 3.4028235e38 (f32), got 1e+300", argument = "x")
  refused(1:4, TRUE, code = "dtype", message = "argument `y`: expected dtype bool for logical data, got i32", argument = "y")
  refused(1:4, 1i, code = "dtype", message = "argument `y`: expected dtype c64 or c128 for complex data, got i32", argument = "y")
  refused(1:3, 1, code = "shape", message = "argument `x`: expected shape [4], got [3]", argument = "x")
  refused(1, 1, code = "shape", message = "argument `x`: expected shape [4], got [1]", argument = "x")
  refused(matrix(1:4, 2), 1, code = "shape", message = "argument `x`: expected shape [4], got [2, 2]", argument = "x")
  refused(1:4, 1:2, code = "shape", message = "argument `y`: expected shape [], got [2]", argument = "y")
  refused(letters[1:4], 1, code = "type", message = "argument `x`: expected an AnvlArray, a PJRTBuffer, or a logical", argument = "x")
  refused(1:4, NULL, code = "type", message = "got NULL", argument = "y")
  refused(1:4, list(1), code = "type", message = "got a list of length 1", argument = "y")
  refused(structure(1:4, class = "thing"), 1, code = "type", message = "got a thing", argument = "x")
  refused(pjrt_buffer(1:4), 1, code = "dtype", message = "argument `x`: expected dtype f32, got i32", argument = "x")
  refused(pjrt_buffer(c(1, 2)), 1, code = "shape", message = "argument `x`: expected shape [4], got [2]", argument = "x")
  refused(anvl(1:4), 1, code = "type", message = "argument `x$data`: expected a PJRTBuffer", argument = "x$data")
  refused(anvl(pjrt_buffer(c(1, 2, 3, 4)), "other"), 1, code = "type", message = "expected an AnvlArray of backend \"pjrt\", got one of backend \"other\"")
  refused(pjrt_buffer(c(1, 2, 3, 4), device = "cpu:1"), 1, code = "device", message = "argument `x`: expected an array on cpu:0, got one on cpu:1", argument = "x")
  released <- pjrt_buffer(c(1, 2, 3, 4))
  release(released)
  refused(released, 1, code = "dead", message = "argument `x`: expected a PJRTBuffer that is alive, got one that was released", argument = "x")
  donated <- pjrt_buffer(c(1, 2, 3, 4))
  eat <- pjrt_compile(identity_of("tensor<4xf32>", " {tf.aliasing_output = 0 : i32}"))
  pjrt_execute(eat, donated)
  refused(donated, 1, code = "donated", message = "argument `x`: the array was donated to an earlier call and is gone", argument = "x")
  # Nothing of that has broken it.
  expect_identical(values(run(s, 1:4, 7)), list(c(1, 2, 3, 4), 7L))
})

test_that("a slot without a name is told by its place among the inputs", {
  s <- pjrt_skeleton("func.func @main(%arg0: tensor<2xf32>, %y: tensor<f32>) -> tensor<f32> { return %y : tensor<f32> }")
  expect_fault(run(s, 1:3, 1), "shape", "argument `...[[1]]`: expected shape [2], got [3]", "...[[1]]")
  expect_fault(run(s, y = 1, 1:3), "shape", "argument `...[[2]]`: expected shape [2], got [3]", "...[[2]]")
  expect_fault(run(s, y = 1), "argument_count", "argument 1 is missing, f32[2]")
  expect_fault(run(s, arg0 = 1:2, 1), "argument", "unused argument `arg0`: the skeleton has the slot `y`")
  expect_fault(run(s, pjrt_buffer(1:2), 1), "dtype", "argument `...[[1]]`: expected dtype f32, got i32")
})

test_that("only a skeleton runs", {
  expect_fault(run(1, 2), "type", "argument `.skeleton`: expected a PJRTSkeleton, or another object with a method, got a double value")
  expect_fault(run(unserialize(serialize(two(), NULL)), 1), "dead", "from another session", ".skeleton")
  expect_fault(run(structure(1, class = "PJRTSkeleton")), "type", "expected a PJRTSkeleton", ".skeleton")
  expect_fault(memory_report(pjrt_client()), "type", "argument `skeleton`: expected a PJRTSkeleton, got a PJRTClient", "skeleton")
})

test_that("slots are given in several forms, and have to be what the program takes", {
  program <- identity_of(c("tensor<2x3xf32>", "tensor<i1>"))
  of <- function(slots) sub(" ->.*", "", format(pjrt_skeleton(program, slots)))
  expect_identical(of(NULL), "<PJRTSkeleton (x: f32[2,3], y: bool[])")
  expect_identical(of(c("f32[2,3]", "bool[]")), "<PJRTSkeleton (f32[2,3], bool[])")
  expect_identical(of(c(a = "f32[2, 3]", " i1 [ ]")), "<PJRTSkeleton (a: f32[2,3], bool[])")
  layouts <- list(list(dtype = "f32", shape = c(2, 3)), b = list(shape = integer(), dtype = "bool"))
  expect_identical(of(layouts), "<PJRTSkeleton (f32[2,3], b: bool[])")
  arrays <- list(u = pjrt_buffer(matrix(1, 2, 3)), v = anvl(pjrt_scalar(TRUE)))
  expect_identical(of(arrays), "<PJRTSkeleton (u: f32[2,3], v: bool[])")
  # Names that no program can have.
  expect_identical(as_array(run(pjrt_skeleton(identity_of("tensor<f32>"), c("a b" = "f32[]")), `a b` = 2)), 2)

  refused <- function(slots, code, message, argument = NULL) {
    condition <- expect_fault(pjrt_skeleton(program, slots), code, message, argument)
    expect_identical(condition$call[[1L]], quote(pjrt_skeleton))
  }
  refused(c("f32[2,4]", "bool[]"), "program", "must take `1` as tensor<2x4xf32>, it takes tensor<2x3xf32>")
  refused(c(a = "f32[3,2]", "bool[]"), "program", "must take `a` as tensor<3x2xf32>")
  refused(c(a = "f64[2,3]", "bool[]"), "program", "must take `a` as tensor<2x3xf64>")
  refused(c(a = "f32[2,3]"), "program", "the program of the skeleton must take 1 argument, it takes 2")
  refused(character(), "program", "must take 0 arguments, it takes 2")
  refused(c(a = "f32[2,3]", a = "bool[]"), "value", "argument `slots`: expected names that differ, got two slots `a`", "slots")
  refused(1, "type", "argument `slots`: expected a list of layouts, such as list(x = \"f32[2,3]\"), or NULL, got a double value", "slots")
  layout <- "expected a layout such as \"f32[2,3]\", list(dtype = \"f32\", shape = c(2, 3)), or an array, got "
  for (text in c("f32", "f32[2,3", "[2]", "", "f32[2,,3]", "f32[-1]", "f32[2.5]", "f32[a]")) {
    refused(list(a = text, "bool[]"), "value", paste0("argument `slots$a`: ", layout, "\"", text, "\""), "slots$a")
  }
  refused(list("f32[2,3]", 1), "type", paste0("argument `slots[[2]]`: ", layout, "a double value"), "slots[[2]]")
  refused(list(NA_character_, "bool[]"), "type", paste0("argument `slots[[1]]`: ", layout, "NA"), "slots[[1]]")
  refused(list(NULL, "bool[]"), "type", "got NULL", "slots[[1]]")
  refused(c(a = "f99[2,3]", "bool[]"), "unknown_dtype", "argument `slots$a`: expected one of bool, i8", "slots$a")
  refused(list(list(dtype = "f32", shape = -1), "bool[]"), "value", "argument `slots[[1]]`: expected sizes that are not negative, got -1")
  refused(c("f32[4000000000000,4000000000000]", "bool[]"), "shape", "argument `slots[[1]]`: expected a shape with fewer elements")
})

test_that("a program that cannot be compiled is an error", {
  expect_fault(pjrt_skeleton("nonsense"), "pjrt", "custom op 'nonsense' is unknown")
  expect_fault(pjrt_skeleton(3), "type", "argument `program`: expected a PJRTProgram, got a double value", "program")
  expect_fault(two(device = "cpu:9"), "value", "argument `device`: expected one of the devices cpu:0, cpu:1", "device")
})

test_that("a program may take the memory of its inputs over if nobody says what they are", {
  double <- "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }"
  s <- pjrt_skeleton(double)
  expect_identical(format(s), "<PJRTSkeleton (x: f32[4] donated, y: f32[4]) -> (f32[4]) on cpu:0>")
  x <- pjrt_buffer(c(1, 2, 3, 4))
  expect_fault(run(s, x, x), "donated", "argument `")
  expect_identical(as.vector(as_array(run(s, x, 1:4))), c(2, 4, 6, 8))
  expect_fault(as_array(x), "donated", "the array was donated")
  expect_fault(run(s, x, 1:4), "donated", "argument `x`: the array was donated to an earlier call and is gone", "x")
  # Of R's own data it is the copy.
  data <- c(1, 2, 3, 4)
  for (i in 1:3) run(s, data, data)
  expect_identical(data, c(1, 2, 3, 4))
  expect_fault(
    pjrt_skeleton(double, c(a = "f32[4]", "f32[4]")), "program", "must leave `a` to the caller, since it is not donated"
  )
})

test_that("a skeleton comes back from its file, in this session and another one", {
  dir <- tempfile()
  dir.create(dir)
  on.exit(unlink(dir, recursive = TRUE))
  file <- file.path(dir, "a skeleton")
  s <- two()
  expect_identical(expect_invisible(save_skeleton(s, file)), s)
  loaded <- load_skeleton(file)
  expect_identical(format(loaded), format(s))
  expect_identical(memory_report(loaded), memory_report(s))
  expect_identical(values(run(loaded, y = 7, x = 1:4)), list(c(1, 2, 3, 4), 7L))
  expect_fault(run(loaded, 1:3, 7), "shape", "argument `x`: expected shape [4], got [3]", "x")

  expect_output(print(load_skeleton(file, device = "cpu:1")), "from a file, and compiled anew: it was compiled with another ")
  expect_identical(device(load_skeleton(file, device = "cpu:1")), pjrt_device("cpu:1"))
  consumes <- pjrt_skeleton("func.func @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }")
  save_skeleton(consumes, file)
  loaded <- load_skeleton(file)
  x <- pjrt_buffer(c(1, 2))
  expect_identical(as.vector(as_array(run(loaded, x))), c(2, 4))
  expect_fault(run(loaded, x), "donated", "argument `x`", "x")

  made <- c(
    sprintf("file <- %s", deparse(file)),
    "s <- pjrt_skeleton('func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }')",
    "save_skeleton(s, file)"
  )
  expect_identical(run_r(made)$status, 0L)
  out <- run_r(c(made[1], "s <- load_skeleton(file)", "print(s)", "cat(as_array(run(s, x = 1:2)), '\\n')"))$out
  expect_identical(out[1], "<PJRTSkeleton (x: f32[2]) -> (f32[2]) on cpu:0>")
  expect_identical(out[3:4], c("loaded from a file", "1 2 "))
})

test_that("a file that is no skeleton, or a damaged one, is told of", {
  dir <- tempfile()
  dir.create(dir)
  on.exit(unlink(dir, recursive = TRUE))
  file <- file.path(dir, "s")
  expect_fault(load_skeleton(file), "file", file)
  expect_fault(load_skeleton(dir), "file", dir)
  expect_fault(load_skeleton(1), "type", "argument `path`: expected a string, got a double value", "path")
  expect_fault(save_skeleton(1, file), "type", "argument `skeleton`: expected a PJRTSkeleton, got a double value", "skeleton")
  expect_fault(save_skeleton(two(), file.path(dir, "no", "such")), "file", "cannot be written")
  expect_fault(save_skeleton(two(), NA), "type", "argument `path`: expected a string, got NA", "path")
  writeLines("text", file)
  expect_fault(load_skeleton(file), "file", file)
  save_skeleton(two(), file)
  bytes <- readBin(file, "raw", file.size(file))
  flipped <- function(at) {
    writeBin(replace(bytes, at, xor(bytes[at], as.raw(1))), file)
    load_skeleton(file)
  }
  expect_fault(flipped(100), "file", file)
  anew <- flipped(length(bytes) - 100)
  expect_output(print(anew), "from a file, and compiled anew: the compiled program in the file cannot be used", fixed = TRUE)
  expect_identical(values(run(anew, 1:4, 7)), list(c(1, 2, 3, 4), 7L))
  writeBin(bytes[seq_len(50)], file)
  expect_fault(load_skeleton(file), "file", file)
})

test_that("a skeleton is for one device", {
  s <- two(device = "cpu:1")
  expect_identical(device(s), pjrt_device("cpu:1"))
  expect_identical(platform(s), "cpu")
  expect_identical(device(run(s, 1:4, 1)[[1]]), pjrt_device("cpu:1"))
  expect_fault(run(s, pjrt_buffer(c(1, 2, 3, 4)), 1), "device", "argument `x`: expected an array on cpu:1, got one on cpu:0", "x")
})

test_that("a skeleton and its memory print", {
  s <- two()
  expect_identical(format(s), "<PJRTSkeleton (x: f32[4], y: i32[]) -> (f32[4], i32[]) on cpu:0>")
  expect_output(print(s), "on cpu:0>\nat most 56 bytes for a run, 2 allocations", fixed = TRUE)
  expect_invisible(print(s)) |> capture.output()
  report <- memory_report(s)
  # Two results come with a table of two pointers.
  expect_identical(unclass(report), list(peak_bytes = 56, output_bytes = 36, argument_bytes = 20, allocations = 2))
  expect_output(expect_invisible(print(report)), "at most    56 bytes\n  arguments  20 bytes\n  results    36 bytes\n  2 allocations", fixed = TRUE)
  large <- memory_report(pjrt_skeleton(identity_of("tensor<1024x1024xf32>")))
  expect_output(print(large), "4 MiB (4194304 bytes)", fixed = TRUE)
})

test_that("scratch memory is part of the report", {
  # A sum over a sorted copy: the copy is neither input nor result.
  s <- pjrt_skeleton("func.func @main(%x: tensor<1000xf32>) -> tensor<f32> {
    %s = \"stablehlo.sort\"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<1000xf32>) -> tensor<1000xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }")
  report <- memory_report(s)
  expect_identical(report$argument_bytes, 4000)
  expect_identical(report$output_bytes, 4)
  expect_gte(report$peak_bytes, 8004)
  expect_identical(report$allocations, 2)
  expect_identical(as_array(run(s, 1:1000)), 500500)
})

test_that("compiles are logged, and R functions can be called", {
  old <- options(pjrtdispatch.verbose = TRUE)
  on.exit(options(old))
  expect_message(two(), "pjrtdispatch: compiled a program of 1 line for cpu:0 in ")
  options(old)
  register_r_handler("r7_plus_one", function(x) x + 1)
  s <- pjrt_skeleton("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @r7_plus_one(%x) {api_version = 4 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }")
  expect_identical(as.vector(as_array(run(s, c(1, 2)))), c(2, 3))
  # A way out of the function goes on where the skeleton was run.
  register_r_handler("r7_plus_one", function(x) invokeRestart("out", x[[1]]))
  expect_identical(withRestarts(run(s, c(5, 2)), out = function(x) x * 10), 50)
})

test_that("inputs and results that nobody has are collected", {
  s <- pjrt_skeleton(identity_of("tensor<100000xf32>"))
  x <- rnorm(1e5)
  gc()
  before <- pjrtdispatch:::rs_live_bytes()
  for (i in 1:20) run(s, x)
  gc()
  expect_lte(pjrtdispatch:::rs_live_bytes(), before + 4e5 + 1024)
})
