test_that("what no generic knows is an error in the user's words", {
  fault <- function(expr, message) {
    condition <- expect_fault(expr, "type", message, "x")
    expect_false(as.character(condition$call[[1]]) %in% c("UseMethod", "refuse", "ask_tengen"))
  }
  skip_if(isNamespaceLoaded("tengen"))
  fault(dtype("a"), "argument `x`: expected a PJRTBuffer, or another object with a method, got a string")
  fault(shape(1), "got a double value")
  fault(device(NULL), "got NULL")
  fault(as_array(list(1)), "got a list of length 1")
  fault(as_raw(pjrt_client(), TRUE), "got a PJRTClient")
  fault(platform(NA_character_), "expected a PJRTBuffer, PJRTClient or PJRTDevice, got NA")
  fault(await(1), "expected a PJRTBuffer or a PJRTArrayPromise, got a double value")
  fault(is_ready(mean), "got a function")
  fault(as_array_async(1L), "expected a PJRTBuffer, got an integer value")
  fault(value(pjrt_buffer(1)), "expected a PJRTArrayPromise, got a PJRTBuffer")
  expect_identical(condition_of(dtype("a"))$call, quote(dtype("a")))
})

generics <- c("dtype", "shape", "device", "as_array", "as_raw")
tengen_code <- sprintf("%s <- function(x, ...) UseMethod('%s')", generics, generics)

test_that("with tengen installed its generics are ours, and have our methods", {
  skip_if(is_installed("tengen"))
  lib <- install_stand_in("tengen", generics, c(tengen_code, "dtype.mine <- function(x, ...) 'of mine'"), "S3method(dtype, mine)")
  code <- c(
    "for (name in c('dtype', 'shape', 'device', 'as_array', 'as_raw')) {",
    "  stopifnot(identical(getExportedValue('tengen', name), getExportedValue('pjrtdispatch', name)))",
    "}",
    "x <- pjrt_buffer(matrix(1:6, 2))",
    "a <- structure(list(data = x, backend = 'pjrt'), class = 'AnvlArray')",
    "stopifnot(",
    "  identical(tengen::dtype(x), structure('i32', class = 'DataType')), identical(tengen::shape(x), 2:3),",
    "  identical(tengen::device(x), pjrt_device('cpu')), identical(tengen::as_array(x), matrix(1:6, 2)),",
    "  identical(tengen::as_array(a), matrix(1:6, 2)), identical(tengen::as_array(as_array_async(x)), matrix(1:6, 2)),",
    "  length(tengen::as_raw(x, row_major = TRUE)) == 24, identical(device(pjrt_device('cpu:0')), pjrt_device('cpu')),",
    "  identical(dtype(structure(1, class = 'mine')), 'of mine')",
    ")",
    "if (requireNamespace('pjrt', quietly = TRUE)) stopifnot(identical(pjrt::dtype, tengen::dtype))",
    "library(tengen)",
    "stopifnot(identical(shape(x), 2:3))",
    "cat('fine')"
  )
  expect_identical(run_with(lib, code), "fine")
  expect_identical(run_with(lib, code, load = "library(tengen); library(pjrtdispatch)"), "fine")
})

test_that("tengen that appears later gets our methods, and our generics ask it", {
  skip_if(is_installed("tengen"))
  lib <- install_stand_in("tengen", generics, c(tengen_code, "dtype.mine <- function(x, ...) 'of mine'"), "S3method(dtype, mine)")
  code <- c(
    "x <- pjrt_buffer(1:3)",
    "stopifnot(identical(shape(x), 3L))",
    sprintf("loadNamespace('tengen', lib.loc = %s)", deparse(lib)),
    "stopifnot(identical(tengen::shape(x), 3L), identical(tengen::as_array(x), array(1:3)))",
    "stopifnot(identical(shape(x), 3L), identical(dtype(structure(1, class = 'mine')), 'of mine'))",
    "cat('fine')"
  )
  expect_identical(run_with(character(), code)[-1], "fine")
})

test_that("buffers can be written by safetensors", {
  skip_if(is_installed("safetensors"))
  generic <- c("safe_tensor_buffer", "safe_tensor_meta")
  lib <- install_stand_in("safetensors", generic, sprintf("%s <- function(x, ...) UseMethod('%s')", generic, generic))
  code <- c(
    "x <- pjrt_buffer(matrix(1:6, 2), dtype = 'ui16')",
    "a <- structure(list(data = x, backend = 'pjrt'), class = 'AnvlArray')",
    "for (y in list(x, a)) {",
    "  stopifnot(identical(safetensors::safe_tensor_buffer(y), as_raw(x, row_major = TRUE)))",
    "  meta <- safetensors::safe_tensor_meta(y)",
    "  stopifnot(identical(names(meta), c('shape', 'dtype')), identical(unclass(meta$shape), 2:3), meta$dtype == 'U16')",
    "}",
    "for (dtype in c('bool', 'i8', 'i16', 'i32', 'i64', 'ui8', 'ui32', 'ui64', 'f16', 'bf16', 'f32', 'f64', 'c64')) {",
    "  cat(safetensors::safe_tensor_meta(pjrt_scalar(1, dtype))$dtype, '')",
    "}",
    "cat(tryCatch(safetensors::safe_tensor_meta(pjrt_scalar(1i, 'c128')), error = conditionMessage))"
  )
  expected <- paste(
    "BOOL I8 I16 I32 I64 U8 U32 U64 F16 BF16 F32 F64 C64",
    "argument `x`: expected a dtype that the format safetensors has, got c128"
  )
  expect_identical(run_with(lib, code), expected)
  expect_identical(run_with(lib, code, load = "loadNamespace('safetensors'); library(pjrtdispatch)")[-1], expected)
})

test_that("anvl's own methods for its arrays win, whichever package is loaded first", {
  skip_if(is_installed("anvl"))
  code <- c(
    "print.AnvlArray <- function(x, ...) cat('by anvl\\n')", "as_array.AnvlArray <- function(x, ...) 'by anvl'",
    "dim.AnvlArray <- function(x) c(7L, 7L); t.AnvlArray <- function(x) 'turned'"
  )
  methods <- sprintf("S3method(%s, AnvlArray)", c("print", "dim", "as_array"))
  methods[[2]] <- paste0(methods[[2]], "\nS3method(t, AnvlArray)")
  methods[[3]] <- paste0("importFrom(pjrtdispatch, as_array)\n", methods[[3]])
  used <- c(
    "a <- structure(list(data = pjrt_buffer(c(1, 2)), backend = 'pjrt'), class = 'AnvlArray')",
    "print(a); cat(as_array(a), dim(a), t(a)[1], as.numeric(structure(list(data = 1:2), class = 'AnvlArray')))"
  )
  # The second one knows nothing of this package, and so can be loaded before it.
  libs <- c(
    install_stand_in("anvl", "print.AnvlArray", code, methods),
    install_stand_in("anvl", "print.AnvlArray", code[-2], methods[1:2])
  )
  last <- function(out) out[length(out) - 1:0]
  own <- last(run_with(character(), c("library(pjrtdispatch)", used)))
  expect_identical(own, c("[1] 1 2", "1 2 2 1 1 2"))
  won <- c("by anvl", "by anvl 7 7 turned NA")
  expect_identical(last(run_with(libs[1], c("loadNamespace('anvl')", sub("as.numeric.*", "NA)", used)))), won)
  won <- c("by anvl", "1 2 7 7 turned NA")
  for (load in c("loadNamespace('anvl'); library(pjrtdispatch)", "library(pjrtdispatch); loadNamespace('anvl')")) {
    expect_identical(last(run_with(libs[2], sub("as.numeric.*", "NA)", used), load)), won)
  }
})

test_that("code written against pjrt and tengen runs, with arrays that carry fields, and with bare ones", {
  skip_if(is_installed("tengen"))
  skip_if_not_installed("pjrt")
  lib <- install_stand_in("tengen", generics, c(
    tengen_code, "shape.AnvlArray <- function(x, ...) if (is.null(x$shape)) shape(x$data) else x$shape"
  ), "S3method(shape, AnvlArray)")
  code <- '
    stopifnot(utils::packageVersion("pjrt") >= "0.4.0")
    wrap <- function(x) structure(list(
      data = x, dtype = tengen::dtype(x), shape = tengen::shape(x), device = tengen::device(x), backend = "pjrt"
    ), class = "AnvlArray")
    bare <- function(x) structure(list(data = x, backend = "pjrt"), class = "AnvlArray")
    default <- c("f32", "i32")
    d <- pjrt::dispatcher(10L, function(info) {
      bare <- vapply(info$avals, function(aval) aval$kind == "rdata", NA)
      types <- vapply(info$avals, function(aval) {
        type <- if (aval$kind == "rdata") info$context[[1]] else aval$dtype
        paste0("tensor<", paste0(aval$shape, "x", collapse = "")[length(aval$shape) > 0], type, ">")
      }, "")
      src <- sprintf("func.func @main(%%x: %s, %%y: %s) -> %s {
        %%b = stablehlo.broadcast_in_dim %%y, dims = [] : (%s) -> %s
        %%r = stablehlo.multiply %%x, %%b : %s
        return %%r : %s }", types[1], types[2], types[1], types[2], types[1], types[1], types[1])
      list(
        exec = pjrt::pjrt_compile(pjrt::pjrt_program(src)), client = pjrt::pjrt_client(), device = pjrt::pjrt_device("cpu"),
        out_tree = pjrt::build_tree(1), out_avals = list(list(dtype = info$avals[[1]]$dtype, shape = info$avals[[1]]$shape)),
        input_dtypes = ifelse(bare, info$context[[1]], NA_character_)
      )
    }, backend = "pjrt", move_inputs = TRUE, context = function() default)
    f <- function(...) pjrt::dispatch(d, list(...))
    buffer <- pjrt::pjrt_buffer(matrix(1:6 + 0.5, 2))
    y <- f(f(wrap(buffer), 2), 10)
    z <- f(f(bare(buffer), 2), 10)
    stopifnot(identical(tengen::as_array(y$data), tengen::as_array(z$data)), pjrt::dispatcher_size(d) == 1L)
    stopifnot(identical(tengen::as_array(y), 20 * matrix(1:6 + 0.5, 2)), identical(tengen::shape(y), 2:3))
    stopifnot(identical(pjrt::device(y$data), y$device), identical(unclass(y$dtype), "f32"), identical(y$backend, "pjrt"))
    cat("fine")'
  expect_identical(run_with(lib, code, load = ""), "fine")
})
