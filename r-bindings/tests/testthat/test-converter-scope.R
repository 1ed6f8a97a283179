# Converters for the code of a package: `families` of tests/packages, which scripts/test-r installs.
skip_if_not_installed("families")
families <- asNamespace("families")

object <- function(class = "scoped") structure(list(), class = class)
gives <- function(value) function(x, expected) value
plain_values <- function(x) as.vector(as_array(x))
leaves_of <- function() plain(fun = identity, move_inputs = TRUE)$d

# Each test begins without converters of its own.
clear <- function() {
  mine <- converters(all = TRUE)
  mine <- mine[startsWith(mine$description, "scoped: "), ]
  for (i in seq_len(nrow(mine))) {
    remove_converter(mine$description[[i]], if (!is.na(mine$scope[[i]])) mine$scope[[i]])
  }
}
register <- function(value, name, ...) register_converter("scoped", gives(value), description = paste("scoped:", name), ...)

# The function as code of a package, or of a script.
code_of <- function(where, f) {
  environment(f) <- where
  f
}
call_in <- function(where) code_of(where, function(d, x) pjrtdispatch::dispatch(d, list(x)))
inside <- call_in(families)
outside <- call_in(globalenv())

test_that("a converter for a package is used where code of that calls, and nowhere else", {
  clear()
  register(c(1, 2), "own", scope = "families")
  d <- leaves_of()
  expect_identical(plain_values(families$plus(object(), c(3, 4))), c(4, 6))
  expect_identical(inside(d, object()), list(c(1, 2)))
  expect_identical(plain_values(code_of(families, function(x) pjrtdispatch::pjrt_buffer(x))(object())), c(1, 2))
  skeleton <- pjrt_skeleton("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
  expect_identical(plain_values(code_of(families, function(s, x) pjrtdispatch::run(s, x))(skeleton, object())), c(1, 2))
  for (call in list(outside, call_in(asNamespace("testthat")), function(d, x) dispatch(d, list(x)))) {
    expect_fault(call(d, object()), "type", "no converter is registered for an object of class `scoped`")
  }
  expect_fault(pjrt_buffer(object()), "type", "no converter is registered", "data")
  expect_fault(run(skeleton, object()), "type", "no converter is registered", "x")
})

test_that("the nearest scope is taken: the call's, the dispatcher's, the package's, and the one of all", {
  clear()
  d <- leaves_of()
  register(1, "all")
  own <- register(2, "package", scope = "families")
  of_other <- register(9, "other package", scope = "virtualseq")
  expect_identical(list(inside(d, object()), outside(d, object())), list(list(2), list(1)))
  expect_identical(plain_values(families$sum_of(object(), 0)), 2)
  of_d <- register(3, "dispatcher", scope = d)
  expect_identical(list(inside(d, object()), outside(d, object())), list(list(3), list(3)))
  expect_identical(inside(leaves_of(), object()), list(2))
  with_converter("scoped", gives(4), expect_identical(inside(d, object()), list(4)))
  remove_converter(of_d)
  expect_true(set_converter_status(own, FALSE))
  expect_identical(inside(d, object()), list(1))
  expect_false(set_converter_status(own, TRUE))
  # The class decides before the scope.
  register_converter("exact", gives(5), description = "scoped: exact")
  expect_identical(inside(d, object(c("exact", "scoped"))), list(5))
  # As everywhere else, two in one scope are one too many.
  register(6, "again", scope = families)
  expect_fault(inside(d, object()), "converter", "`scoped: package` of package pjrtdispatch and `scoped: again` of")
})

test_that("whose code calls is a matter of who wrote it", {
  clear()
  register(1, "own", scope = "families")
  d <- leaves_of()
  # R's own functions are passed over.
  through <- list(
    function(d, x) lapply(list(x), function(x) pjrtdispatch::dispatch(d, list(x)))[[1]],
    function(d, x) Map(pjrtdispatch::dispatch, list(d), list(list(x)))[[1]],
    function(d, x) do.call(pjrtdispatch::dispatch, list(d, list(x))),
    function(d, x) do.call("dispatch", list(d, list(x)), envir = list2env(list(dispatch = pjrtdispatch::dispatch))),
    function(d, x) tryCatch(suppressWarnings(pjrtdispatch::dispatch(d, list(x))), warning = identity),
    function(d, x) local(pjrtdispatch::dispatch(d, list(x))),
    function(d, x) eval(quote(pjrtdispatch::dispatch(d, list(x)))),
    function(d, x) pjrtdispatch::with_copy("if_needed", pjrtdispatch::dispatch(d, list(x)))
  )
  for (f in through) {
    expect_identical(code_of(families, f)(d, object()), list(1))
    expect_fault(code_of(globalenv(), f)(d, object()), "type", "no converter is registered")
  }
  # A function of a further package that evaluates its argument is none of those that call.
  around <- code_of(asNamespace("testthat"), function(x) x)
  expect_identical(code_of(families, function(around, d, x) around(pjrtdispatch::dispatch(d, list(x))))(around, d, object()), list(1))
  # An argument is evaluated by the package, but is the script's; and so is a function of the script that the package calls.
  forces <- code_of(families, function(x) x)
  calls <- code_of(families, function(f, ...) f(...))
  expect_fault(code_of(globalenv(), function(forces, d, x) forces(pjrtdispatch::dispatch(d, list(x))))(forces, d, object()), "type", "no converter")
  expect_fault(calls(outside, d, object()), "type", "no converter")
  expect_identical(code_of(globalenv(), function(f, ...) f(...))(inside, d, object()), list(1))
  # A converter's own function, too, is somebody's code.
  nested <- function(x, expected) pjrtdispatch::dispatch(x$d, list(structure(list(), class = "scoped")))[[1]]
  outer <- structure(list(d = d), class = "outer")
  with_converter("outer", code_of(families, nested), expect_identical(outside(d, outer), list(1)))
  with_converter("outer", code_of(globalenv(), nested), expect_fault(inside(d, outer), "converter", "no converter is registered"))
})

test_that("the message of an object without a converter lists those of the package that calls", {
  clear()
  d <- leaves_of()
  x <- object("unknown")
  # Which one is inactive makes no difference.
  own <- register(1, "own", scope = "families")
  expect_fault(inside(d, x), "type", "`scoped: own` for class `scoped`")
  expect_false(grepl("scoped: own", conditionMessage(condition_of(outside(d, x)))))
  set_converter_status(own, FALSE)
  expect_fault(inside(d, x), "type", "inactive: `scoped: own` for class `scoped`")
  expect_fault(families$plus(x, 1), "type", "inactive: `scoped: own` for class `scoped`", "x")
})

test_that("all functions name the converters of a package by its scope", {
  clear()
  count <- converter_count()
  own <- register(c(1, 2), "own", scope = "families")
  inside(leaves_of(), object())
  expect_identical(converter_count(), count)
  expect_identical(converter_count("families"), 1L)
  expect_identical(converter_count("virtualseq"), 0L)
  expect_identical(converter_descriptions(families), "scoped: own")
  expect_identical(converter_status("families"), c("scoped: own" = TRUE))
  expect_identical(converters("families"), data.frame(
    class = "scoped", description = "scoped: own", package = "pjrtdispatch", active = TRUE, native = FALSE, calls = 1,
    bytes_copied = 16
  ))
  register(1, "all")
  listed <- converters(all = TRUE)
  expect_identical(nrow(listed), count + 2L)
  expect_identical(utils::tail(listed$scope, 2), c("families", NA))
  expect_identical(names(listed), c(names(converters()), "scope"))
  expect_fault(converters("families", all = TRUE), "type", "NULL where `all` is TRUE", "scope")
  expect_output(print(own), "<PJRTConverter \"scoped: own\" for class \"scoped\", package pjrtdispatch, in calls of package families>", fixed = TRUE)
  expect_true(set_converter_status("scoped: own", FALSE, scope = "families"))
  expect_false(set_converter_status(1, TRUE, scope = families))
  expect_true(set_converter_status(own, TRUE))
  expect_fault(remove_converter("scoped: own"), "value", "got \"scoped: own\"", "id")
  expect_fault(remove_converter("other", scope = "families"), "value", "(1 \"scoped: own\"), got \"other\"", "id")
  expect_fault(remove_converter("other", scope = "virtualseq"), "value", "got \"other\", and none is registered", "id")
  remove_converter(own)
  expect_identical(converter_count("families"), 0L)
  expect_fault(remove_converter(own), "value", "got one that is not, or not any more", "id")
})

test_that("what is no scope is refused", {
  clear()
  bad <- function(scope, code, message) {
    expect_fault(register(1, "bad", scope = scope), code, message, "scope")
    expect_fault(converters(scope), code, message, "scope")
    expect_fault(converter_count(scope), code, message, "scope")
    expect_fault(remove_converter("bad", scope), code, message, "scope")
  }
  what <- "a Dispatcher, the name or the namespace of a package, or NULL"
  bad(1, "type", paste0(what, ", got a double value"))
  bad(NA, "type", what)
  bad(NA_character_, "type", what)
  bad(c("families", "virtualseq"), "type", what)
  bad(character(), "type", what)
  bad(new.env(), "type", what)
  bad(pjrt_buffer(1), "type", what)
  for (name in c("", "a", "1a", ".a", "a.", "no-package", "a b", "a_b", "gr\u00f6\u00dfe", "package:base")) {
    bad(name, "value", sprintf("expected the name of a package: letters, digits and dots, a letter first and no dot last, got \"%s\"", name))
  }
  bad("stats", "value", "expected a package with calls of its own, got \"stats\", whose calls count as those of the code that calls it")
  bad(asNamespace("pjrtdispatch"), "value", "got \"pjrtdispatch\"")
})

test_that("a package that is named need not be there yet", {
  clear()
  for (name in c("R6", "data.table", "aB1")) expect_identical(converter_count(name), 0L)
  own <- register(1, "early", scope = "not.yet.there")
  expect_identical(converter_count("not.yet.there"), 1L)
  expect_fault(outside(leaves_of(), object()), "type", "no converter is registered")
  remove_converter(own)
})

test_that("a converter in Rust may be for the calls of its package only", {
  clear()
  id <- families$rs_register_for("families")
  d <- leaves_of()
  x <- structure(3L, class = "counted")
  expect_identical(inside(d, x), list(1:3))
  expect_identical(plain_values(families$sum_of(x, 1L)), 7L)
  expect_fault(outside(d, x), "type", "no converter is registered")
  expect_identical(converters("families")[c("description", "package", "native")], data.frame(
    description = "numbers in Rust", package = "families", native = TRUE
  ))
  remove_converter("numbers in Rust", scope = "families")
  expect_fault(inside(d, x), "type", "no converter is registered")
  expect_fault(families$rs_register_for("no-package"), "value", "the name of a package", "scope")
  expect_identical(converter_count("families"), 0L)
})

test_that("unloading a package removes its own converters, wherever they count, and leaves those that others have for it", {
  out <- run_r(c(
    "ns <- loadNamespace('families')",
    "of <- function(ns, f) { environment(f) <- ns; f }",
    "own <- of(ns, function(x, expected) 1)",
    "register_converter('a', own, description = 'own', scope = 'families')",
    "register_converter('a', own, description = 'for another', scope = 'virtualseq')",
    "register_converter('b', function(x, expected) 2, description = 'of the script', scope = 'families')",
    "d <- dispatcher(4, function(info) list(r_fun = function(leaves) { if (isNamespaceLoaded('families')) unloadNamespace('families'); gc(); leaves[[1]] }),",
    "  backend = 'plain', move_inputs = TRUE, extractor = identity)",
    "call <- of(ns, function(d, x) pjrtdispatch::dispatch(d, list(structure(list(), class = x))))",
    "cat(call(d, 'a'), isNamespaceLoaded('families'), converter_descriptions('families'), converter_count('virtualseq'), '')",
    "call <- of(loadNamespace('families'), call)",
    "cat(call(d, 'b'))"
  ))
  expect_identical(out$out, "1 FALSE of the script 0 2", info = out$err)
})

test_that("the package that calls is found while R collects all the time", {
  clear()
  register(c(1, 2), "own", scope = "families")
  d <- leaves_of()
  expect_same_when_tortured(function() list(inside(d, object()), plain_values(families$plus(object(), c(3, 4)))))
})

clear()
