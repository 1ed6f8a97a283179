integers <- "VirtualIntegerSequence to integer"
numbers <- "VirtualDoubleSequence to numeric"

test_that("a virtual sequence stores only its length", {
  v <- vseq(10)
  expect_identical(length(v), 10L)
  expect_identical(unclass(v), 10L)
  expect_identical(class(as.integer(v)), c("VirtualIntegerSequence", "VirtualSequence"))
  expect_identical(class(as.double(v)), c("VirtualDoubleSequence", "VirtualSequence"))
  expect_identical(unclass(as.double(v)), 10L)
  expect_output(print(as.integer(v)), "<VirtualIntegerSequence of length 10>", fixed = TRUE)
})

test_that("the converters can be looked at, switched off and on", {
  ours <- function(x) x[c(integers, numbers)]
  expect_true(all(c(integers, numbers) %in% converter_descriptions()))
  expect_identical(ours(converter_status()), stats::setNames(c(TRUE, TRUE), c(integers, numbers)))
  expect_identical(set_converter_status(integers, FALSE), TRUE)
  expect_identical(ours(converter_status()), stats::setNames(c(FALSE, TRUE), c(integers, numbers)))
  expect_identical(set_converter_status(integers, TRUE), FALSE)
  all <- converters()
  all <- all[all$package %in% "virtualseq", c("class", "description", "active", "native")]
  rownames(all) <- NULL
  expect_identical(all, data.frame(
    class = c("VirtualIntegerSequence", "VirtualDoubleSequence"), description = c(integers, numbers), active = TRUE,
    native = c(TRUE, FALSE)
  ))
})

test_that("the sum of a sequence of 10 integers is 55, by the converter in Rust", {
  v <- vseq(10)
  expect_identical(as_array(total(as.integer(v))), 55L)
  calls <- converters()$calls[converter_descriptions() == integers]
  expect_gte(calls, 1)
  # A program is kept by what was converted, so the same array takes the same program.
  expect_no_error(expect_no_compile(total(1:10)))
})

test_that("without the converter a sequence is refused, naming its class", {
  set_converter_status(integers, FALSE)
  on.exit(set_converter_status(integers, TRUE))
  fault <- expect_error(total(as.integer(vseq(10))), class = "pjrtdispatch_error")
  expect_identical(fault$argument, "x")
  expect_match(
    conditionMessage(fault), "no converter is registered for an object of class `VirtualIntegerSequence`, `VirtualSequence`",
    fixed = TRUE
  )
  expect_match(conditionMessage(fault), paste0("inactive: `", integers, "`"), fixed = TRUE)
})

test_that("the way back gives the first element, by the converter in R", {
  expect_identical(first_is_sum(as.double(vseq(10))), 55)
  # Of plain numbers the result is what the program gives.
  expect_identical(c(as_array(first_is_sum(c(1, 2, 3)))), c(6, 2, 3))
})

test_that("a converter in Rust says what is wrong as one in R does", {
  broken <- structure("ten", class = "VirtualIntegerSequence")
  fault <- expect_error(total(broken), class = "pjrtdispatch_error")
  expect_identical(fault$argument, "x")
  expect_match(conditionMessage(fault), "argument `x`: the converter `VirtualIntegerSequence to integer` failed: ", fixed = TRUE)
  negative <- structure(-1L, class = "VirtualIntegerSequence")
  expect_error(total(negative), "failed: expected the length of a sequence", class = "pjrtdispatch_error")
})

test_that("dispatch() takes them, too", {
  d <- dispatcher(
    4, function(info) list(r_fun = function(leaves) sum(leaves[[1]])),
    backend = "plain", move_inputs = TRUE, extractor = identity
  )
  expect_identical(dispatch(d, list(as.integer(vseq(10)))), 55L)
  expect_identical(dispatch(d, list(as.double(vseq(10)))), 55)
})

# What an R process of its own prints.
run_r <- function(lines) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c("library(pjrtdispatch)", "ours <- function() sum(converters()$package %in% 'virtualseq')", lines), file)
  libs <- paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  paste(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, stderr = FALSE, env = libs), collapse = " ")
}

test_that("unloading the package removes its converters, and loading brings them back", {
  out <- run_r(c(
    "invisible(loadNamespace('virtualseq'))", "cat(ours(), '')", "unloadNamespace('virtualseq')", "cat(ours(), '')",
    "invisible(loadNamespace('virtualseq'))", "cat(ours())"
  ))
  expect_match(out, "2 0 2")
})

test_that("the package may be unloaded while its converter runs", {
  out <- run_r(c(
    "d <- dispatcher(4, function(info) list(r_fun = function(leaves) sum(leaves[[1]])), backend = 'plain',",
    "  move_inputs = TRUE, extractor = identity)",
    "v <- as.double(virtualseq::vseq(10))",
    "length.VirtualDoubleSequence <- function(x) { unloadNamespace('virtualseq'); gc(); 10L }",
    "cat(dispatch(d, list(v)), isNamespaceLoaded('virtualseq'), ours())"
  ))
  expect_match(out, "55 FALSE 0")
})

test_that("what is no length is refused", {
  for (len in list(-1, NA, NA_integer_, 1.5, c(1, 2), numeric(), "10", Inf, 2^31, NULL)) {
    expect_error(vseq(len), "argument `len`: expected a whole number that is not negative, got ", fixed = TRUE)
  }
  expect_identical(length(vseq(0)), 0L)
})
