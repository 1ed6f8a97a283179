# Each test begins with the converters that the package has itself.
shipped <- converter_count()
clear <- function() while (converter_count() > shipped) remove_converter(converter_count())
# What the functions say of those that a test has registered.
own <- function(x) if (is.data.frame(x)) x[seq_len(nrow(x)) > shipped, ] else x[seq_along(x) > shipped]

sequence <- function(n, class = "VirtualSequence") structure(as.integer(n), class = class)

ones <- function(x, expected) as.integer(seq_len(unclass(x)))

# A dispatcher whose calls give their leaves.
leaves_of <- function(...) plain(fun = identity, ..., move_inputs = TRUE)$d

test_that("an object of a registered class is an argument", {
  clear()
  register_converter("VirtualSequence", ones, description = "sequence to integer")
  expect_identical(dispatch(leaves_of(), list(sequence(10))), list(1:10))
  expect_identical(sum(dispatch(leaves_of(), list(x = sequence(10)))[[1]]), 55L)
})

test_that("without a converter the object is refused, and the message names its class and those that there are", {
  clear()
  d <- leaves_of()
  expect_fault(
    dispatch(d, list(x = sequence(3))), "type",
    "got a VirtualSequence: no converter is registered for an object of class `VirtualSequence`; ", "x"
  )
  register_converter("other", ones, description = "others to integer")
  expect_fault(
    dispatch(d, list(b = list(w = list(1, sequence(3))))), "type",
    "`others to integer` for class `other`", "b$w[[2]]"
  )
})

test_that("the walk-through of the note gives its results", {
  clear()
  d <- plain(fun = function(leaves) sum(leaves[[1]]), move_inputs = TRUE)$d
  v <- sequence(10, c("VirtualIntegerSequence", "VirtualSequence"))
  register_converter("VirtualIntegerSequence", ones, description = "VirtualIntegerSequence to integer")
  expect_identical(own(converter_descriptions()), "VirtualIntegerSequence to integer")
  expect_identical(own(converter_status()), c("VirtualIntegerSequence to integer" = TRUE))
  expect_true(set_converter_status(shipped + 1L, FALSE))
  expect_identical(own(converter_status()), c("VirtualIntegerSequence to integer" = FALSE))
  expect_identical(converter_count(), shipped + 1L)
  expect_fault(
    dispatch(d, list(v)), "type",
    "inactive: `VirtualIntegerSequence to integer` for class `VirtualIntegerSequence`"
  )
  expect_false(set_converter_status(shipped + 1L, TRUE))
  expect_identical(dispatch(d, list(v)), 55L)
})

test_that("the exact class comes before inherited ones in their order, and predicates last", {
  clear()
  d <- leaves_of()
  x <- sequence(1, c("a", "b", "c"))
  gives <- function(value) function(x, expected) value
  p <- register_converter(NULL, gives(4), description = "predicate", predicate = function(x) inherits(x, "c"))
  expect_identical(dispatch(d, list(x)), list(4))
  register_converter("c", gives(3), description = "c")
  expect_identical(dispatch(d, list(x)), list(3))
  b <- register_converter("b", gives(2), description = "b")
  expect_identical(dispatch(d, list(x)), list(2))
  register_converter("a", gives(1), description = "a")
  expect_identical(dispatch(d, list(x)), list(1))
  set_converter_status("a", FALSE)
  expect_identical(dispatch(d, list(x)), list(2))
  remove_converter(b)
  expect_identical(dispatch(d, list(x)), list(3))
  remove_converter("c")
  expect_identical(dispatch(d, list(x)), list(4))
  remove_converter(p)
  expect_fault(dispatch(d, list(x)), "type", "inactive: `a`")
})

test_that("two converters that are equal are an error that names both", {
  clear()
  d <- leaves_of()
  register_converter("a", ones, description = "first")
  register_converter("a", ones, description = "second")
  expect_fault(
    dispatch(d, list(x = sequence(1, "a"))), "converter", "two converters are for class `a`, `first` of package pjrtdispatch and `second` of package pjrtdispatch", "x"
  )
  set_converter_status("second", FALSE)
  expect_identical(dispatch(d, list(sequence(1, "a"))), list(1L))
  both <- function(x) is.character(x)
  register_converter(NULL, function(x, expected) 1, description = "one", predicate = both)
  register_converter(NULL, function(x, expected) 2, description = "two", predicate = both)
  expect_fault(dispatch(d, list("x")), "converter", "`one` of package pjrtdispatch and `two` of", "[[1]]")
})

test_that("S4 objects have the converters of the classes that theirs extends", {
  clear()
  where <- environment()
  setClass("ConvertedBase", representation(n = "numeric"), where = where)
  setClass("ConvertedDerived", contains = "ConvertedBase", where = where)
  d <- leaves_of()
  register_converter("ConvertedBase", function(x, expected) as.numeric(seq_len(x@n)), description = "base")
  expect_identical(dispatch(d, list(new("ConvertedDerived", n = 3))), list(c(1, 2, 3)))
  register_converter("ConvertedDerived", function(x, expected) 0, description = "derived")
  expect_identical(dispatch(d, list(new("ConvertedDerived", n = 3))), list(0))
  expect_identical(dispatch(d, list(new("ConvertedBase", n = 2))), list(c(1, 2)))
})

test_that("objects that R would evaluate are passed as they are", {
  clear()
  register_converter("formula", function(x, expected) length(all.vars(x)), description = "formula")
  register_converter("name", function(x, expected) nchar(as.character(x)), description = "name")
  register_converter("call", function(x, expected) 4, description = "call")
  expect_identical(dispatch(leaves_of(), list(y ~ a + b, as.name("four"), quote(stop("no")))), list(3L, 4L, 4))
})

test_that("arrays and R data that are known are never looked up", {
  clear()
  register_converter(NULL, function(x, expected) stop("asked"), description = "all", predicate = function(x) TRUE)
  d <- leaves_of(static = "s")
  expect_identical(dispatch(d, list(1, TRUE, matrix(1:4, 2), s = sequence(3))), list(1, TRUE, matrix(1:4, 2)))
  expect_identical(own(converters())$calls, 0)
})

test_that("what is expected is told: dispatch() knows the path", {
  clear()
  seen <- NULL
  register_converter("a", function(x, expected) {
    seen <<- expected
    1
  }, description = "a")
  d <- leaves_of()
  dispatch(d, list(b = list(w = list(1, sequence(1, "a")))))
  expect_identical(seen, list(dtype = NULL, shape = NULL, path = "b$w[[2]]", copy = "if_needed"))
  # Static arguments and NULLs are no leaves.
  dispatch(leaves_of(static = "s"), list(s = 1, x = NULL, 2, sequence(1, "a")))
  expect_identical(seen$path, "[[4]]")
})

test_that("what the converter gives is part of the key, and seen by the callback", {
  clear()
  x <- sequence(3, "a")
  e <- echo()
  gives <- 1:3
  register_converter("a", function(x, expected) gives, description = "a")
  expect_identical(c(values(dispatch(e$d, list(p = list(x))))[[1]]), 1:3)
  gives <- c(1, 2)
  expect_identical(c(values(dispatch(e$d, list(p = list(x))))[[1]]), c(1, 2))
  dispatch(e$d, list(p = list(x)))
  expect_identical(dispatcher_stats(e$d)$compiles, 2L)
  info <- e$infos()[[2]]
  expect_identical(info$args, list(p = list(c(1, 2))))
  expect_identical(info$leaves, list(c(1, 2)))
  expect_identical(info$avals, list(list(kind = "rdata", dtype = "double", shape = 2L)))
  why <- dispatch_explain(e$d, list(p = list(x)))
  expect_true(why$hit)
  gives <- TRUE
  expect_identical(dispatch_explain(e$d, list(p = list(x)))$differences$now, "bare logical[1]")
})

test_that("a converter may give a buffer or an array", {
  clear()
  x <- sequence(3, "a")
  e <- echo()
  with_converter("a", function(x, expected) pjrt_buffer(c(1, 2, 3)), {
    expect_identical(c(values(dispatch(e$d, list(x)))[[1]]), c(1, 2, 3))
  })
  leaf <- e$infos()[[1]]$leaves[[1]]
  expect_s3_class(leaf, "AnvlArray")
  expect_identical(as.character(dtype(leaf$data)), "f32")
  with_converter("a", function(x, expected) anvl(c(4, 5, 6)), {
    expect_identical(c(values(dispatch(e$d, list(x)))[[1]]), c(4, 5, 6))
  })
  # One dtype and shape: one program.
  expect_identical(compiles(e$d), 1L)
  released <- function(x, expected) release(pjrt_buffer(1))
  with_converter("a", released, expect_fault(dispatch(e$d, list(x)), "converter", "gave a PJRTBuffer"))
})

test_that("what is no array is an error that names converter and argument", {
  clear()
  d <- echo()$d
  call <- quote(dispatch(d, list(x = sequence(3, "a"))))
  refused <- function(value, message, code = "converter") {
    fault <- with_converter("a", function(x, expected) value, expect_fault(eval(call), code, message, "x"), description = "D")
    expect_match(conditionMessage(fault), "`D`", fixed = TRUE)
    expect_identical(fault$call, call)
  }
  refused(NULL, "the converter `D` gave NULL, expected a logical")
  refused(list(1), "gave a list of length 1")
  refused("a", "gave a string")
  refused(sum, "gave a function")
  refused(c(1L, NA), "`x`", "value")
})

test_that("what converters may give and `dispatch()` takes from nobody else is brought to the device", {
  clear()
  e <- echo()
  x <- sequence(2, "a")
  run <- function(value) {
    with_converter("a", function(x, expected) value, values(dispatch(e$d, list(x, 1)))[[1]], description = "D")
  }
  expect_identical(run(c(1 + 2i, NA)), array(c(1 + 2i, NA)))
  expect_identical(run(matrix(1:4 + 0i, 2)), matrix(1:4 + 0i, 2))
  wide <- bit64::as.integer64("9007199254740993") + 0:2
  expect_identical(c(run(wide)), c(wide))
  told <- lapply(e$infos(), function(info) info$avals[[1]][c("dtype", "shape")])
  expect_identical(told, list(
    list(dtype = "c128", shape = 2L), list(dtype = "c128", shape = c(2L, 2L)), list(dtype = "i64", shape = 3L)
  ))
  expect_identical(c(run(wide + 1L)), c(wide + 1L))
  expect_identical(compiles(e$d), 3L)
  expect_fault(run(bit64::as.integer64(c(1, NA))), "value", "NA as element 2, given by the converter `D`", "[[1]]")
  expect_fault(with_copy("never", run(1i)), "converter", "it may not copy", "[[1]]")
  d <- leaves_of()
  with_converter("a", function(x, expected) 1i, expect_fault(dispatch(d, list(x)), "type", "got a complex value", "[[1]]"))
})

test_that("an error in a converter names it and the argument, and leaves all as it was", {
  clear()
  e <- echo()
  x <- sequence(3, "a")
  run <- function() dispatch(e$d, list(b = list(w = list(1, x))))
  with_converter("a", function(x, expected) stop("the file is closed"), description = "D", {
    fault <- expect_fault(run(), "converter", "argument `b$w[[2]]`: the converter `D` failed: the file is closed", "b$w[[2]]")
  })
  expect_identical(fault$call, quote(dispatch(e$d, list(b = list(w = list(1, x))))))
  expect_s3_class(fault$parent, "simpleError")
  expect_identical(compiles(e$d), 0L)
  # Other conditions and ways out go on as they are.
  with_converter("a", function(x, expected) {
    warning("careful")
    1
  }, expect_warning(run(), "careful"))
  result <- withRestarts(
    with_converter("a", function(x, expected) invokeRestart("leave", 7), run()),
    leave = function(x) x
  )
  expect_identical(result, 7)
  with_converter("a", ones, expect_identical(c(values(run())[[2]]), 1:3))
})

test_that("the error of a converter inside of another names both", {
  clear()
  d <- leaves_of()
  with_converter("a", function(x, expected) dispatch(d, list(inner = sequence(1, "b"))), description = "A", {
    with_converter("b", function(x, expected) stop("deep"), description = "B", {
      expect_fault(
        dispatch(d, list(outer = sequence(1, "a"))), "converter",
        "argument `outer`: the converter `A` failed: argument `inner`: the converter `B` failed: deep", "outer"
      )
    })
  })
})

test_that("a converter may dispatch, also the same call", {
  clear()
  d <- plain(fun = function(leaves) sum(leaves[[1]]), move_inputs = TRUE)$d
  depth <- 0
  register_converter("a", function(x, expected) {
    depth <<- depth + 1
    if (unclass(x) == 0L) 0 else dispatch(d, list(sequence(unclass(x) - 1L, "a"))) + unclass(x)
  }, description = "a")
  expect_identical(dispatch(d, list(sequence(4, "a"))), 10)
  expect_identical(depth, 5)
})

test_that("converters may be removed and registered while they run", {
  clear()
  d <- leaves_of()
  converter <- NULL
  converter <- register_converter("a", function(x, expected) {
    remove_converter(converter)
    gc()
    local({
      register_converter("a", function(x, expected) 2, description = "next")
    })
    1
  }, description = "first")
  expect_identical(dispatch(d, list(sequence(1, "a"), sequence(1, "a"))), list(1, 2))
  remove_converter("next")
  expect_identical(converter_count(), shipped)
})

test_that("the converters of a dispatcher are for its calls, and with_converter() comes before all", {
  clear()
  d <- leaves_of()
  other <- leaves_of()
  x <- sequence(1, "a")
  gives <- function(value) function(x, expected) value
  of_d <- register_converter("a", gives(2), description = "own", scope = d)
  expect_identical(dispatch(d, list(x)), list(2))
  expect_fault(dispatch(other, list(x)), "type", "no converter is registered")
  register_converter("a", gives(1), description = "for all")
  expect_identical(list(dispatch(d, list(x)), dispatch(other, list(x))), list(list(2), list(1)))
  # The class decides before the scope.
  register_converter("first", gives(5), description = "exact")
  expect_identical(dispatch(d, list(sequence(1, c("first", "a")))), list(5))
  expect_identical(with_converter("a", gives(3), dispatch(d, list(x))), list(3))
  expect_identical(with_converter("a", gives(3), with_converter("a", gives(4), dispatch(d, list(x)))), list(4))
  expect_identical(converter_descriptions(d), "own")
  expect_identical(own(converter_descriptions()), c("for all", "exact"))
  expect_true(set_converter_status(of_d, FALSE))
  expect_identical(dispatch(d, list(x)), list(1))
  remove_converter(of_d)
  expect_identical(converter_count(d), 0L)
  # A scope ends also on an error.
  try(with_converter("a", gives(9), stop("no")), silent = TRUE)
  expect_identical(dispatch(d, list(x)), list(1))
})

test_that("a dispatcher with converters that refer to it is collected", {
  clear()
  collected <- FALSE
  local({
    d <- leaves_of()
    reg.finalizer(environment(), function(e) collected <<- TRUE)
    register_converter("a", function(x, expected) if (is.null(d)) 1 else 2, description = "own", scope = d)
    expect_identical(dispatch(d, list(sequence(1, "a"))), list(2))
  })
  gc()
  gc()
  expect_true(collected)
})

test_that("copy = \"never\" refuses data of R, for a converter and for calls", {
  clear()
  d <- leaves_of()
  x <- sequence(2, "a")
  register_converter("a", ones, description = "D", copy = "never")
  expect_fault(dispatch(d, list(x = x)), "converter", "the converter `D` gave data of R, which is copied", "x")
  expect_identical(with_copy("if_needed", dispatch(d, list(x))), list(1:2))
  with_converter("a", ones, {
    expect_identical(dispatch(d, list(x)), list(1:2))
    expect_fault(with_copy("never", dispatch(d, list(x))), "converter", "may not copy")
    expect_fault(with_copy("sometimes", dispatch(d, list(x))), "value", "\"sometimes\"", "policy")
    expect_identical(dispatch(d, list(x)), list(1:2))
  })
})

test_that("converters() says what there is, and what it has done", {
  clear()
  register_converter("a", ones, description = "integers")
  register_converter(NULL, function(x, expected) 1, description = "others", predicate = function(x) FALSE)
  dispatch(leaves_of(), list(sequence(10, "a"), sequence(5, "a")))
  seen <- own(converters())
  rownames(seen) <- NULL
  expect_identical(seen, data.frame(
    class = c("a", NA), description = c("integers", "others"), package = "pjrtdispatch", active = TRUE, native = FALSE,
    calls = c(2, 0), bytes_copied = c(60, 0)
  ))
  expect_identical(converter_count(), shipped + 2L)
})

test_that("a converter is named by position, description or object, and another name is an error", {
  clear()
  register_converter("a", ones, description = "same")
  second <- register_converter("b", ones, description = "same")
  expect_fault(remove_converter("same"), "value", "only one converter has, or an index, got \"same\"", "id")
  expect_fault(remove_converter(shipped + 3L), "value", sprintf("%d \"same\"), got %d", shipped + 2L, shipped + 3L), "id")
  expect_fault(set_converter_status(0, TRUE), "value", "got 0", "id")
  expect_fault(remove_converter("none"), "value", "got \"none\"", "id")
  expect_fault(set_converter_status(1, NA), "type", "TRUE or FALSE", "active")
  remove_converter(shipped + 2L)
  expect_fault(remove_converter(second), "value", "expected a converter that is registered for these calls, got one that is not, or not any more", "id")
  expect_identical(format(second), "<PJRTConverter \"same\" for class \"b\", package pjrtdispatch>")
})

test_that("what names no converter is refused", {
  clear()
  what <- "expected the index or the description of a converter, or what `register_converter()` gave, got "
  refused <- function(id, got) {
    expect_fault(remove_converter(id), "type", paste0(what, got), "id")
    expect_fault(set_converter_status(id, TRUE), "type", paste0(what, got), "id")
  }
  refused(NULL, "NULL")
  refused(NA, "NA")
  refused(NA_character_, "NA")
  refused(c("a", "b"), "a character vector of length 2")
  refused(c(1, 2), "a double vector of length 2")
  refused(TRUE, "a logical value")
  refused(list(1), "a list of length 1")
  refused(structure(1, class = "PJRTConverter"), "a PJRTConverter")
  refused(structure(list(), class = "PJRTConverter"), "NULL")
  expect_fault(remove_converter(), "type", paste0(what, "none"), "id")
  expect_fault(set_converter_status("Date"), "type", "expected TRUE or FALSE, got none", "active")
  expect_fault(remove_converter(1.5), "value", "got 1.5", "id")
  expect_identical(converter_count(), shipped)
})

test_that("what cannot be a converter is refused", {
  clear()
  expect_fault(register_converter("a", 1, description = "d"), "type", "a function of `x`, `expected`", "convert_in")
  expect_fault(register_converter("a", function(x) 1, description = "d"), "value", "got one of 1 argument", "convert_in")
  expect_fault(register_converter("a", ones), "argument", "`description`")
  expect_fault(register_converter("a", ones, description = ""), "option", "description")
  expect_fault(register_converter("", ones, description = "d"), "option", "class")
  expect_fault(register_converter(NULL, ones, description = "d"), "type", "or a `predicate`", "class")
  expect_fault(register_converter("a", ones, description = "d", predicate = is.list), "type", "NULL", "predicate")
  expect_fault(register_converter("a", ones, description = "d", copy = "maybe"), "value", "\"maybe\"", "copy")
  expect_fault(register_converter("a", ones, description = "d", scope = 1), "type", "Dispatcher", "scope")
  policies <- "expected one of \"never\", \"if_needed\" and \"always\", got "
  expect_fault(register_converter("a", ones, description = "d", copy = NULL), "type", paste0(policies, "NULL"), "copy")
  expect_fault(with_copy(NA, 1), "type", paste0(policies, "NA"), "policy")
  expect_fault(with_copy(), "type", paste0(policies, "none"), "policy")
  expect_fault(register_converter("a", ones, function(x) 1, "d"), "value", "`result`, `original`, `info`", "convert_out")
  expect_fault(register_converter(convert_in = ones, description = "d"), "type", "got none", "class")
  expect_fault(register_converter("a", description = "d"), "type", "got none", "convert_in")
  expect_fault(with_converter("a"), "type", "got none", "convert_in")
  # Of this primitive R knows no arguments.
  expect_no_warning(with_converter("a", `if`, 1))
  expect_identical(converter_count(), shipped)
})

test_that("a predicate that gives no flag, or fails, is an error", {
  clear()
  d <- leaves_of()
  register_converter(NULL, ones, description = "D", predicate = function(x) NA)
  neither <- "the predicate of the converter `D` gives neither TRUE nor FALSE"
  expect_fault(dispatch(d, list("a")), "converter", neither, "[[1]]")
  expect_fault(pjrt_buffer("a"), "converter", neither, "data")
  remove_converter("D")
  register_converter(NULL, ones, description = "D", predicate = function(x) stop("bad luck"))
  fault <- expect_fault(
    dispatch(d, list(x = "a")), "converter", "argument `x`: the converter `D` failed: bad luck", "x"
  )
  expect_identical(fault$call, quote(dispatch(d, list(x = "a"))))
  expect_identical(conditionMessage(fault$parent), "bad luck")
})

test_that("100 000 conversions leave nothing behind", {
  clear()
  e <- echo()
  x <- sequence(3, "a")
  register_converter("a", function(x, expected) pjrt_buffer(c(1, 2, 3)), description = "a")
  run <- function(n) for (i in seq_len(n)) dispatch(e$d, list(x, x))
  # The allocator takes what it needs for the buffers that wait for R's collector.
  run(10000)
  gc()
  live <- rs_live_bytes()
  cells <- sum(gc()[, 1])
  growth <- vapply(1:3, function(round) {
    memory <- resident()
    run(25000)
    gc()
    resident() - memory
  }, 0)
  expect_equal(sum(gc()[, 1]), cells, tolerance = 0.01)
  expect_lte(rs_live_bytes(), live)
  # An array that is left behind takes some hundred bytes, and so many of them more than this in each round. What the
  # allocator takes for a thread that is late, it takes in one.
  expect_lt(min(growth), 4 * 2^20)
})

test_that("conversions are right while R collects all the time", {
  clear()
  e <- echo()
  x <- sequence(3, "a")
  register_converter("a", function(x, expected) pjrt_buffer(as.numeric(seq_len(unclass(x)))), description = "a")
  register_converter("b", function(x, expected) c(1.5, 2.5), description = "b")
  expect_same_when_tortured(function() values(dispatch(e$d, list(x, p = list(sequence(1, "b"), 2)))))
})

test_that("skeletons take objects, and tell what they expect", {
  clear()
  seen <- NULL
  register_converter("a", function(x, expected) {
    seen <<- expected
    if (length(x) == 1L) pjrt_buffer(c(1, 2, 3)) else c(4, 5, 6)
  }, description = "D")
  s <- pjrt_skeleton("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }")
  expect_identical(c(as_array(run(s, sequence(1, "a")))), c(1, 2, 3))
  expect_identical(seen, list(dtype = "f32", shape = 3L, path = "x", copy = "if_needed"))
  expect_identical(c(as_array(run(s, x = structure(1:2, class = "a")))), c(4, 5, 6))
  with_converter("a", function(x, expected) c(1, 2), {
    expect_fault(run(s, sequence(1, "a")), "converter", "gave shape [2], expected f32 of shape [3]", "x")
  }, description = "D")
  with_converter("a", function(x, expected) pjrt_buffer(1:3), {
    expect_fault(run(s, sequence(1, "a")), "converter", "the converter `D` gave dtype i32, expected f32", "x")
  }, description = "D")
  with_converter("a", function(x, expected) c(TRUE, FALSE, TRUE), {
    expect_fault(run(s, sequence(1, "a")), "converter", "the converter `D` gave logical data, expected f32", "x")
  }, description = "D")
  expect_fault(run(s, sequence(1, "b")), "type", "no converter is registered for an object of class `b`", "x")
  d <- dynamic_skeleton(function(inputs) s, 4)
  expect_identical(c(as_array(run(d, pjrt_buffer(c(1, 2, 3))))), c(1, 2, 3))
  expect_identical(c(as_array(run(d, sequence(1, "a")))), c(1, 2, 3))
  expect_identical(seen, list(dtype = NULL, shape = NULL, path = "...[[1]]", copy = "if_needed"))
})

test_that("pjrt_buffer() takes objects", {
  clear()
  seen <- NULL
  register_converter("a", function(x, expected) {
    seen <<- expected
    ones(x)
  }, description = "D")
  expect_identical(as_array(pjrt_buffer(sequence(3, "a"))), array(1:3))
  expect_identical(seen, list(dtype = NULL, shape = NULL, path = "data", copy = "if_needed"))
  x <- pjrt_buffer(sequence(4, "a"), dtype = "f64", shape = 4L)
  expect_identical(as_array(x), array(c(1, 2, 3, 4)))
  expect_identical(seen, list(dtype = "f64", shape = 4L, path = "data", copy = "if_needed"))
  with_converter("a", function(x, expected) pjrt_buffer(5L), {
    expect_identical(as_array(pjrt_buffer(sequence(3, "a"))), array(5L))
    expect_fault(pjrt_buffer(sequence(3, "a"), dtype = "f32"), "converter", "gave dtype i32, expected f32", "data")
  })
  expect_fault(pjrt_buffer(sequence(1, "b")), "type", "got a b: no converter is registered for an object of class `b`", "data")
})

clear()
