test_that("buffers print as R prints arrays, below what they are", {
  arrays <- list(
    c(1.5, NA, NaN, Inf, -Inf, 1e-300, 1e300, -0), c(1e-10, 1e10), 1:100, c(TRUE, FALSE, TRUE), c(1 + 2i, NA, -3.25i),
    matrix(1:60, 3), matrix(c(1.123456789, 22, 333, 4444.5), 2), matrix(c(TRUE, FALSE), 1), matrix(1:3 + 1i, 3),
    array(1:24, 2:4), array(c(0.5, 1e6), c(2, 2, 2, 2)), matrix(7, 1, 1), array(1:8, c(1, 2, 1, 2, 2))
  )
  for (width in c(20, 60, 100)) {
    old <- options(width = width)
    for (x in arrays) {
      buffer <- pjrt_buffer(x, dtype = switch(typeof(x), double = "f64", complex = "c128"))
      lines <- capture.output(print(buffer, max_rows = Inf, max_rows_slice = Inf))
      expect_match(lines[[1]], "^<PJRTBuffer .* on cpu:0>$")
      expect_identical(lines[-1], capture.output(print(x)))
    }
    options(old)
  }
})

test_that("buffers print", {
  expect_snapshot(pjrt_buffer(matrix(1:6, 2, 3)))
  expect_snapshot(pjrt_scalar(1.5))
  expect_snapshot(pjrt_buffer(c(TRUE, FALSE)))
  expect_snapshot(pjrt_buffer(bit64::as.integer64(c("9007199254740993", NA))))
  expect_snapshot(pjrt_buffer(c(2^63, 1), dtype = "ui64"))
  expect_snapshot(pjrt_buffer(matrix(c(2^63, 1, 2, 3), 2), dtype = "ui64"))
  expect_snapshot(pjrt_buffer(array(1:12, c(2, 3, 2))))
  expect_snapshot(pjrt_buffer(integer()))
  expect_snapshot(print(pjrt_buffer(1:3), header = FALSE, footer = c("the", "end")))
})

test_that("of much little is printed, and how much is left", {
  expect_snapshot(print(pjrt_buffer(1:1000), max_rows = 2, max_width = 40))
  expect_snapshot(print(pjrt_buffer(matrix(1:40, 20)), max_rows = 3))
  expect_snapshot(print(pjrt_buffer(matrix(1:400, 20)), max_rows = 6, max_rows_slice = 2, max_width = 40))
  expect_snapshot(print(pjrt_buffer(matrix(1:40, 2)), max_rows = 4, max_width = 30))
  expect_snapshot(print(pjrt_buffer(array(1:80, c(4, 2, 10))), max_rows = 6, max_rows_slice = 2))
  lines <- capture.output(print(pjrt_buffer(matrix(0.5, 300, 300))))
  expect_lt(length(lines), 40)
  expect_match(lines[length(lines)], "^\\.\\.\\. 270 more rows and 2[0-9]{2} more columns$")
  expect_lt(length(capture.output(print(pjrt_buffer(0.5, shape = c(3, 3, 300))))), 80)
  expect_lt(system.time(capture.output(print(pjrt_buffer(0.5, shape = c(2000, 2000)))))[["elapsed"]], 5)
})

test_that("the limits are checked", {
  x <- pjrt_buffer(matrix(1:4, 2))
  refused <- function(message, argument, ...) expect_fault(capture.output(print(x, ...)), "value", message, argument)
  refused("expected a number from 1 on, got a string", "max_rows", max_rows = "a")
  refused("got NA", "max_rows", max_rows = NA)
  refused("got 0", "max_width", max_width = 0)
  refused("got -1", "max_rows_slice", max_rows_slice = -1)
  refused("got NULL", "max_width", max_width = NULL)
  expect_fault(capture.output(print(x, header = NA)), "type", "expected TRUE or FALSE, got NA", "header")
  expect_fault(capture.output(print(x, footer = 1)), "type", "expected lines of text, or NULL", "footer")
  old <- options(pjrt.print_max_rows = "many")
  on.exit(options(old))
  refused("got a string", "max_rows")
})

test_that("the elements as text read back exactly", {
  expect_identical(format_buffer(pjrt_buffer(c(TRUE, FALSE))), array(c("true", "false"), 2))
  expect_identical(format_buffer(pjrt_buffer(matrix(1:4, 2))), matrix(as.character(1:4), 2))
  x <- c(pi, 1e300, -0, 0.1, NA, NaN, Inf, -Inf, 5e-324)
  text <- c(format_buffer(pjrt_buffer(x, dtype = "f64")))
  expect_identical(text[5:8], c("NA", "NaN", "Inf", "-Inf"))
  expect_identical(suppressWarnings(as.numeric(text)), x)
  expect_identical(c(format_buffer(pjrt_buffer(c(NA, 1L)))), c("-2147483648", "1"))
  wide <- pjrt_buffer(bit64::as.integer64(c("9007199254740993", NA)))
  expect_identical(c(format_buffer(wide)), c("9007199254740993", "-9223372036854775808"))
  expect_identical(c(format_buffer(pjrt_buffer(c(2^63, 1), dtype = "ui64"))), c("9223372036854775808", "1"))
  expect_identical(format_buffer(pjrt_buffer(matrix(c(1, 2, 300, 4), 2), dtype = "ui16")), matrix(c("1", "2", "300", "4"), 2))
  z <- complex(real = c(1 / 3, -0, NaN, 2), imaginary = c(-0.1, 2, 1, -Inf))
  text <- format_buffer(pjrt_buffer(z, dtype = "c128"))
  expect_identical(c(text), c("0.33333333333333331-0.10000000000000001i", "-0+2i", "NaN+1i", "2-Infi"))
  expect_identical(format_buffer(pjrt_scalar(2)), array("2", 1))
})
