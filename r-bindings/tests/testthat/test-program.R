add_text <- "func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %sum = stablehlo.add %a, %b : tensor<3xf32>
  return %sum : tensor<3xf32>
}"

# A program that takes over its first argument.
donating <- "func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<3xf32>) -> tensor<3xf32> {
  %sum = stablehlo.add %a, %b : tensor<3xf32>
  return %sum : tensor<3xf32>
}"

three <- "func.func @main() -> (tensor<i32>, tensor<2xi32>, tensor<2x3xi32>) {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  return %a, %b, %c : tensor<i32>, tensor<2xi32>, tensor<2x3xi32>
}"

x <- function() pjrt_buffer(c(1, 2, 3))
y <- function() pjrt_buffer(c(10, 20, 30))

test_that("a program is compiled and run", {
  add <- pjrt_compile(pjrt_program(add_text))
  expect_s3_class(add, "PJRTLoadedExecutable", exact = TRUE)
  expect_identical(c(as_array(pjrt_execute(add, x(), y()))), c(11, 22, 33))
  expect_identical(lapply(pjrt_execute(add, x(), y(), simplify = FALSE), as_array), list(array(c(11, 22, 33), 3)))
  expect_identical(device(add), pjrt_device("cpu"))
  expect_identical(platform(add), "cpu")
  expect_identical(format(add), "<PJRTLoadedExecutable (f32[3], f32[3]) -> (f32[3]) on cpu:0>")
})

test_that("no argument, and three results", {
  results <- pjrt_execute(pjrt_compile(pjrt_program(three)))
  expect_identical(lapply(results, as_array), list(1L, array(1:2, 2), matrix(1:6, 2, byrow = TRUE)))
})

test_that("a program comes from text, lines, bytes or a file", {
  lines <- strsplit(add_text, "\n")[[1]]
  file <- tempfile()
  on.exit(unlink(file))
  writeLines(lines, file)
  for (program in list(
    pjrt_program(lines), pjrt_program(charToRaw(add_text)), pjrt_program(path = file), pjrt_program(add_text)
  )) {
    expect_s3_class(program, "PJRTProgram", exact = TRUE)
    expect_identical(c(as_array(pjrt_execute(pjrt_compile(program), x(), y()))), c(11, 22, 33))
  }
  expect_identical(as.character(pjrt_program(add_text)), add_text)
  expect_output(print(pjrt_program(add_text)), "<PJRTProgram>\nfunc.func @main", fixed = TRUE)
  expect_fault(pjrt_program(), "type", "one of `src` and `path` has to be given")
  expect_fault(pjrt_program(add_text, file), "type", "only one of `src` and `path`")
  expect_fault(pjrt_program(path = "missing.mlir"), "value", "a file that can be read, got \"missing.mlir\"", "path")
  expect_fault(pjrt_program(1), "type", "expected a character vector, got a double value", "src")
  expect_fault(pjrt_program(add_text, format = "other"), "value", "expected \"mlir\" or \"hlo\", got \"other\"", "format")
})

test_that("a wrong program is the compiler's error", {
  condition <- expect_fault(pjrt_compile(pjrt_program("func.func @main() { nonsense }")), "pjrt", "custom op 'nonsense'")
  expect_identical(condition$call, quote(pjrt_compile(pjrt_program("func.func @main() { nonsense }"))))
  expect_fault(pjrt_compile(add_text), "type", "expected a PJRTProgram, got a string", "program")
  expect_fault(pjrt_compile(pjrt_program("x", format = "hlo")), "pjrt", "HloModuleProto")
})

test_that("a program runs on the device that it was compiled for", {
  add <- pjrt_compile(pjrt_program(add_text), device = "cpu:1")
  there <- function(b) copy_buffer(b, "cpu:1")
  out <- pjrt_execute(add, there(x()), there(y()))
  expect_identical(device(out), pjrt_device("cpu:1"))
  expect_identical(c(as_array(out)), c(11, 22, 33))
  expect_fault(pjrt_execute(add, there(x()), y()), "device", "expected an array on cpu:1, got one on cpu:0", "...[[2]]")
})

test_that("inputs are checked", {
  add <- pjrt_compile(pjrt_program(add_text))
  expect_fault(pjrt_execute(add, x()), "argument_count", "takes 2 arguments, got 1; argument 2 is missing, f32[3]")
  expect_fault(pjrt_execute(add, x(), y(), y()), "argument_count", "argument 3 is one too many")
  expect_fault(pjrt_execute(add, x(), pjrt_buffer(1:3)), "dtype", "expected dtype f32, got i32", "...[[2]]")
  expect_fault(pjrt_execute(add, x(), pjrt_buffer(1)), "shape", "expected shape [3], got [1]", "...[[2]]")
  expect_fault(pjrt_execute(add, x(), 1), "type", "expected a PJRTBuffer, got a double value", "...[[2]]")
  expect_fault(pjrt_execute(1, x()), "type", "expected a PJRTLoadedExecutable", "executable")
  expect_fault(pjrt_execute(add, x(), y(), simplify = NA), "type", "expected TRUE or FALSE, got NA", "simplify")
})

test_that("a donated buffer is gone, the same one twice is an error", {
  take <- pjrt_compile(pjrt_program(donating))
  a <- x()
  expect_identical(c(as_array(pjrt_execute(take, a, y()))), c(11, 22, 33))
  expect_fault(as_array(a), "donated", "argument `x`: the array was donated to an earlier call and is gone", "x")
  expect_fault(pjrt_execute(take, a, y()), "donated", "the array was donated", "...[[1]]")
  expect_identical(format(a), "<PJRTBuffer f32[3] on cpu:0, donated>")
  expect_output(print(a), "donated>")
  b <- x()
  expect_fault(pjrt_execute(take, b, b), "donated", "the array is also argument 1", "...[[2]]")
  expect_identical(c(as_array(b)), c(1, 2, 3))
})

test_that("an input can be kept", {
  take <- pjrt_compile(pjrt_program(donating))
  a <- x()
  keep <- pjrt_execution_options(non_donatable_input_indices = 0L)
  expect_identical(c(as_array(pjrt_execute(take, a, y(), execution_options = keep))), c(11, 22, 33))
  expect_identical(c(as_array(a)), c(1, 2, 3))
  expect_identical(c(as_array(pjrt_execute(take, a, a, execution_options = keep))), c(2, 4, 6))
  expect_fault(
    pjrt_execute(take, a, y(), execution_options = pjrt_execution_options(5L)), "option", "indices below 2"
  )
  expect_fault(pjrt_execute(take, a, y(), execution_options = list()), "type", "expected what pjrt_execution_options")
})

test_that("results in a column-major layout read back right", {
  text <- 'module @m attributes {mhlo.layout_mode = "default"} {
    func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
      %b = stablehlo.add %a, %a : tensor<2x3xf32>
      return %b : tensor<2x3xf32>
    }
  }'
  m <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  expect_identical(as_array(pjrt_execute(pjrt_compile(pjrt_program(text)), pjrt_buffer(m))), 2 * m)
})

test_that("the optimised program is shown", {
  program <- pjrt_program(add_text)
  expect_match(inspect_hlo(program), "ENTRY")
  expect_identical(inspect_hlo(pjrt_compile(program)), inspect_hlo(program))
})

test_that("every compile is logged on request, with the program's name and its time", {
  named <- pjrt_program(paste("module @jit_add {", add_text, "}", sep = "\n"))
  expect_silent(pjrt_compile(named))
  old <- options(pjrtdispatch.verbose = TRUE)
  on.exit(options(old))
  expect_message(
    pjrt_compile(named, device = "cpu:1"),
    "^pjrtdispatch: compiled jit_add \\(6 lines\\) for cpu:1 in [0-9]+\\.[0-9]{3} s\n$"
  )
  expect_message(pjrt_compile(pjrt_program(add_text)), "compiled a program of 4 lines for cpu:0 in")
  expect_message(inspect_hlo(named), "compiled jit_add")
  # A dispatcher tells of its own, once, with the reason.
  e <- echo()
  said <- testthat::capture_messages(dispatch(e$d, list(anvl(array(1:3)))))
  expect_match(said, "^pjrtdispatch: compiled in [0-9]+\\.[0-9]{3} s, miss: nothing is compiled yet\n$")
  expect_length(said, 1)
  expect_silent(dispatch(e$d, list(anvl(array(4:6)))))
  # A failure is an error and no compile; what listens may stop it all.
  expect_no_message(try(pjrt_compile(pjrt_program("nonsense")), silent = TRUE))
  expect_identical(tryCatch(dispatch(e$d, list(anvl(matrix(1)))), message = function(m) "stopped"), "stopped")
  options(old)
  expect_identical(values(dispatch(e$d, list(anvl(matrix(1))))), list(matrix(1)))
  expect_identical(dispatcher_stats(e$d)$hits, 2L)
})

test_that("compile options are those of XLA", {
  expect_s3_class(pjrt_compile(pjrt_program(add_text), new_compile_options(raw())), "PJRTLoadedExecutable")
  expect_fault(pjrt_compile(pjrt_program(add_text), new_compile_options(as.raw(255))), "option", "CompileOptionsProto")
  expect_fault(new_compile_options(1), "type", "expected a raw vector")
})

test_that("a finalizer that uses the package at the end of the session does no harm", {
  run <- run_r(c(
    sprintf("text <- %s", deparse1(add_text)),
    "add <- pjrt_compile(pjrt_program(text)); x <- pjrt_buffer(c(1, 2, 3))",
    "reg.finalizer(globalenv(), function(e) cat(as_array(pjrt_execute(add, x, x)), '\\n'), onexit = TRUE)",
    "q()"
  ))
  expect_match(run$out, "2 4 6", all = FALSE)
  expect_identical(run$status, 0L)
})

test_that("without check, bytes are taken for what the program expects", {
  same <- pjrt_compile(pjrt_program("func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> { return %x : tensor<2xi32> }"))
  floats <- pjrt_buffer(matrix(c(1, -0), 2))
  expect_fault(pjrt_execute(same, floats), "dtype", "expected dtype i32, got f32", "...[[1]]")
  expect_identical(c(as_array(pjrt_execute(same, floats, check = FALSE))), c(1065353216L, NA))
  options <- pjrt_execution_options(launch_id = 1L)
  expect_identical(c(as_array(pjrt_execute(same, floats, execution_options = options, check = FALSE))), c(1065353216L, NA))
  refused <- function(x, code, message) expect_fault(pjrt_execute(same, x, check = FALSE), code, message, "...[[1]]")
  refused(pjrt_buffer(c(1, 2, 3)), "shape", "expected shape of 8 bytes, as i32[2], got f32[3] of 12")
  refused(pjrt_buffer(rep(TRUE, 8)), "dtype", "expected dtype i32, got bool")
  refused(pjrt_buffer(c(1, 2), device = "cpu:1"), "device", "expected an array on cpu:0, got one on cpu:1")
  released <- release(pjrt_buffer(c(1, 2)))
  expect_fault(pjrt_execute(same, released, check = FALSE), "dead", "alive", "...[[1]]")
  expect_fault(pjrt_execute(same, check = FALSE), "argument_count", "takes 1 argument, got 0")
  expect_fault(pjrt_execute(same, floats, check = NA), "type", "expected TRUE or FALSE, got NA", "check")
})

test_that("execution options are checked where they are made", {
  expect_fault(pjrt_execution_options("a"), "type", "expected whole numbers, got a string", "non_donatable_input_indices")
  expect_fault(pjrt_execution_options(-1), "value", "expected indices from 0 on, got -1", "non_donatable_input_indices")
  expect_fault(pjrt_execution_options(launch_id = 2^40), "value", "at most 32 bits, got 1099511627776", "launch_id")
  expect_fault(pjrt_execution_options(launch_id = NULL), "type", "expected a whole number, got NULL", "launch_id")
})

test_that("a path may be that of the home folder", {
  home <- tempfile("home")
  dir.create(home)
  writeLines(add_text, file.path(home, "add.mlir"))
  plugin <- sub(".*: (.*)>$", "\\1", format(pjrt_plugin("cpu")))
  code <- "cat(format(pjrt_compile(pjrt_program(path = '~/add.mlir'))))"
  ran <- run_r(code, paste0("HOME=", home, " PJRT_PLUGIN_PATH_CPU=", plugin))
  expect_identical(ran$out, "<PJRTLoadedExecutable (f32[3], f32[3]) -> (f32[3]) on cpu:0>")
  expect_fault(pjrt_program(character()), "type", "expected a program, got a character vector of length 0", "src")
})

test_that("bytes without an encoding are no string", {
  bytes <- "\xff"
  Encoding(bytes) <- "bytes"
  expect_fault(pjrt_program(path = bytes), "type", "expected a string, got a string of bytes without an encoding", "path")
  expect_fault(pjrt_device(bytes), "type", "got a string of bytes", "device")
  # Nor are bytes that are wrong in the encoding.
  expect_fault(pjrt_device("cpu\xff"), "type", "got a string that is not valid in its encoding", "device")
})

test_that("an input may be an object for which there is a converter", {
  add <- pjrt_compile(pjrt_program(add_text))
  asked <- list()
  object <- function(value) structure(list(value), class = "converted")
  converting <- function(expr) {
    with_converter("converted", function(x, expected) {
      asked <<- c(asked, list(expected[c("dtype", "shape", "path")]))
      x[[1]]
    }, expr)
  }
  values <- function(...) as.vector(as_array(pjrt_execute(add, ...)))
  expect_identical(converting(values(x(), object(c(1, 1, 1)))), c(2, 3, 4))
  expect_identical(asked, list(list(dtype = "f32", shape = 3L, path = "...[[2]]")))
  expect_identical(converting(values(object(host_view(c(1, 1, 1), "f64", convertible = TRUE)), object(y()))), c(11, 21, 31))
  expect_identical(values(as.Date("1970-01-02") + 0:2, x()), c(2, 4, 6))
  expect_identical(values(bit64::as.integer64(1:3), x()), c(2, 4, 6))

  named <- "given by the converter `a converter for converted`"
  expect_fault(converting(values(x(), object(c(1, 1)))), "converter", "gave shape [2], expected f32 of shape [3]", "...[[2]]")
  expect_fault(converting(values(object(1:3 + 1e300), x())), "value", named, "...[[1]]")
  expect_fault(
    converting(values(x(), object(plain_array(1)))), "type", paste0("got one of backend \"plain\", ", named), "...[[2]]"
  )
  expect_fault(converting(values(x(), y(), object(1))), "argument_count", "argument 3 is one too many")
  expect_fault(
    values(x(), object(1)), "type",
    "argument `...[[2]]`: expected a PJRTBuffer, got a converted: no converter is registered for an object of class `converted`",
    "...[[2]]"
  )
  # Other data has no class for which there could be one, and an AnvlArray has a buffer of its own.
  expect_fault(values(x(), c(1, 1, 1)), "type", "expected a PJRTBuffer, got a double vector", "...[[2]]")
})

test_that("what a program may write into is never the object's own memory", {
  take <- pjrt_compile(pjrt_program(donating))
  numbers <- c(1, 2, 3)
  path <- tempfile()
  writeBin(numbers, path, size = 4)
  file <- mmap_array(path, "f32", 3, immutable = TRUE)
  copied <- function(expr) {
    before <- converters()
    force(expr)
    sum(converters()$bytes_copied - before$bytes_copied)
  }
  expect_identical(copied(expect_identical(c(as_array(pjrt_execute(take, file, y()))), c(11, 22, 33))), 12)
  expect_identical(as.vector(file), numbers)
  keep <- pjrt_execution_options(non_donatable_input_indices = 0L)
  expect_identical(copied(pjrt_execute(take, file, y(), execution_options = keep)), 0)
  expect_fault(with_copy("never", pjrt_execute(take, file, y())), "converter", "a program may write into this argument", "...[[1]]")
})
