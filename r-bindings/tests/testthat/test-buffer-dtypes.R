# Every R type at every dtype, with values from the edges, against what plain R says of them.

number_types <- c("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64", "c64", "c128")
all_types <- c("bool", number_types)

# Bits of the significand, the least exponent and the greatest number of the float types.
formats <- list(
  f16 = list(bits = 11, least = -14, greatest = 65504), bf16 = list(bits = 8, least = -126, greatest = (2 - 2^-7) * 2^127),
  f32 = list(bits = 24, least = -126, greatest = (2 - 2^-23) * 2^127),
  f64 = list(bits = 53, least = -1022, greatest = .Machine$double.xmax)
)
formats$c64 <- formats$f32
formats$c128 <- formats$f64

# The ends of the integer types, as text: not all are doubles.
ends <- list(
  i8 = c("-128", "127"), i16 = c("-32768", "32767"), i32 = c("-2147483648", "2147483647"),
  i64 = c("-9223372036854775808", "9223372036854775807"), ui8 = c("0", "255"), ui16 = c("0", "65535"),
  ui32 = c("0", "4294967295"), ui64 = c("0", "18446744073709551615")
)

# A double as the nearest number of a float type, ties to even, by exact steps.
nearest <- function(x, dtype) {
  format <- formats[[dtype]]
  if (!is.finite(x) || x == 0 || dtype %in% c("f64", "c128")) {
    return(x)
  }
  exponent <- floor(log2(abs(x)))
  if (2^exponent > abs(x)) exponent <- exponent - 1
  if (2^(exponent + 1) <= abs(x)) exponent <- exponent + 1
  step <- 2^(max(exponent, format$least) - format$bits + 1)
  near <- round(x / step) * step
  if (abs(near) > format$greatest) sign(x) * Inf else near
}

# The integer in a number type, as text: the nearest one without a fraction.
as_integer_text <- function(x, dtype) {
  range <- as.numeric(ends[[dtype]])
  if (is.nan(x) || is.na(x)) {
    "0"
  } else if (x <= range[1]) {
    ends[[dtype]][1]
  } else if (x >= range[2]) {
    ends[[dtype]][2]
  } else {
    sub("^-0$", "0", sprintf("%.0f", trunc(x)))
  }
}

# What R reads of an integer with this text.
read_text <- function(text, dtype) {
  if (text %in% c("-2147483648")[dtype == "i32"] || text == "-9223372036854775808") return(NA_character_)
  if (dtype == "ui64" && as.numeric(text) >= 2^63) NA_character_ else text
}

doubles <- c(
  NA, NaN, Inf, -Inf, 0, -0, 1, -1, 2, 0.5, 1.5, 2.5, -0.5, -1.5, pi, 0.1, 100,
  127, 127.5, 128, -128, -129, 255, 255.9, 256, 32767, 32768, -32768, -32769, 65535, 65536, 2^31 - 1, 2^31, -2^31,
  -2^31 - 1, 2^32 - 1, 2^32, 2^53 - 1, 2^53, 2^53 + 2, 2^63 - 1024, 2^63, -2^63, -2^63 - 2048, 2^64 - 2048, 2^64, 2^70,
  65504, 65519.999, 65520, -65520, 2049, 2051, 257, 259, 16777217, 16777219, 1 + 2^-8, 1 + 2^-8 + 2^-40, 1 + 2^-8 - 2^-40,
  1 + 2^-11, 1 + 2^-11 + 2^-40, 1 + 3 * 2^-11 - 2^-40, 1 + 2^-24 + 2^-50, 2^-24, 2^-25, 2^-25 + 2^-60, 2^-26, 1e-45,
  2^-133, 2^-134, 2^-134 + 2^-170, 2^-149, 2^-150, 5e-324, 1e-300, (2 - 2^-23) * 2^127, (2 - 2^-24) * 2^127,
  (2 - 2^-24) * 2^127 - 2^80, (2 - 2^-7) * 2^127, (2 - 2^-8) * 2^127, 1e300, -1e300, .Machine$double.xmax
)
integers <- c(
  NA, 0L, 1L, -1L, 127L, 128L, -128L, -129L, 255L, 256L, 257L, 259L, 2049L, 2051L, 32767L, 32768L, -32768L, -32769L, 65504L,
  65519L, 65520L, 65535L, 65536L, 16777216L, 16777217L, -16777219L, .Machine$integer.max, -.Machine$integer.max
)

as_read <- function(buffer) {
  x <- as_array(buffer)
  if (!inherits(x, "integer64")) {
    return(as.vector(x))
  }
  text <- rs_integer64_text(x)
  ifelse(text == "NA", NA_character_, text)
}

# What a double becomes at a dtype, as R reads it.
expected_double <- function(x, dtype) {
  if (dtype == "bool") {
    return(is.na(x) || x != 0)
  }
  if (dtype %in% names(ends)) {
    text <- read_text(as_integer_text(x, dtype), dtype)
    return(if (dtype %in% c("i64", "ui32", "ui64")) text else as.integer(text))
  }
  # Of the bits of NA a shorter float keeps none that tell.
  y <- if (is.na(x) && !dtype %in% c("f64", "c128")) NaN else nearest(x, dtype)
  if (startsWith(dtype, "c")) complex(real = y, imaginary = 0) else y
}

same_bits <- function(a, b) identical(a, b, num.eq = FALSE, single.NA = FALSE) || (is_nan(a) && is_nan(b))
is_nan <- function(x) (is.double(x) || is.complex(x)) && is.nan(Re(x))

test_that("a double becomes the same or the nearest value in every dtype", {
  for (dtype in all_types) {
    got <- as_read(pjrt_buffer(doubles, dtype = dtype))
    for (i in seq_along(doubles)) {
      expected <- expected_double(doubles[i], dtype)
      if (!same_bits(got[i], expected)) {
        fail(sprintf("%s as %s is %s, expected %s", format(doubles[i], digits = 17), dtype, got[i], expected))
      }
    }
    # One alone is converted in another way than many.
    alone <- vapply(doubles, function(x) as_read(pjrt_scalar(x, dtype = dtype)), got[1])
    expect_identical(alone, got)
  }
})

test_that("with check = TRUE exactly the doubles that would be lost are refused", {
  lost <- function(x, dtype) {
    if (dtype %in% c("f64", "c128")) return(FALSE)
    if (dtype == "bool") return(!x %in% c(0, 1))
    if (dtype %in% names(ends)) {
      # The greatest i64 and ui64 are no doubles, and what they round to is out of range.
      return(!is.finite(x) || x != trunc(x) || !identical(as_integer_text(x, dtype), sub("^-0$", "0", sprintf("%.0f", x))))
    }
    (is.na(x) && !is.nan(x)) || (is.finite(x) && is.infinite(nearest(x, dtype)))
  }
  for (dtype in all_types) {
    for (x in doubles) {
      refused <- inherits(condition_of(pjrt_scalar(x, dtype = dtype, check = TRUE)), "pjrtdispatch_error")
      if (refused != lost(x, dtype)) {
        fail(sprintf("%s as %s: refused is %s", format(x, digits = 17), dtype, refused))
      }
    }
  }
  succeed()
})

test_that("an integer becomes the same or the nearest value in every number type, and bool is refused", {
  expect_fault(pjrt_buffer(1L, dtype = "bool"), "dtype", "expected any dtype but bool for integer data, got bool", "data")
  for (dtype in number_types) {
    got <- as_read(pjrt_buffer(integers, dtype = dtype))
    for (i in seq_along(integers)) {
      x <- integers[i]
      if (!is.na(x)) {
        expected <- expected_double(as.numeric(x), dtype)
      } else if (dtype %in% names(ends)) {
        # Without check a missing integer is the least one of the type.
        text <- read_text(ends[[dtype]][1], dtype)
        expected <- if (dtype %in% c("i64", "ui32", "ui64")) text else as.integer(text)
      } else {
        missing <- if (dtype %in% c("f64", "c128")) NA else NaN
        expected <- if (startsWith(dtype, "c")) complex(real = missing, imaginary = 0) else as.numeric(missing)
      }
      if (!same_bits(got[i], expected)) {
        fail(sprintf("%s as %s is %s, expected %s", x, dtype, got[i], expected))
      }
      exact <- if (is.na(x)) {
        dtype %in% c("f64", "c128")
      } else if (dtype %in% names(ends)) {
        as_integer_text(as.numeric(x), dtype) == as.character(x)
      } else {
        nearest(as.numeric(x), dtype) == x
      }
      refused <- inherits(condition_of(pjrt_scalar(x, dtype = dtype, check = TRUE)), "pjrtdispatch_error")
      if (refused == exact) {
        fail(sprintf("%s as %s: refused is %s", x, dtype, refused))
      }
    }
  }
  succeed()
})

test_that("a logical is a bool and nothing else", {
  for (dtype in number_types) {
    expect_fault(pjrt_buffer(TRUE, dtype = dtype), "dtype", "expected dtype bool for logical data", "data")
  }
  expect_identical(as_read(pjrt_buffer(c(TRUE, FALSE, NA))), c(TRUE, FALSE, TRUE))
  expect_identical(as_read(pjrt_buffer(c(TRUE, FALSE), check = TRUE)), c(TRUE, FALSE))
  message <- "no missing values, which bool does not hold, got NA as element 2"
  expect_fault(pjrt_buffer(c(TRUE, NA), check = TRUE), "value", message)
})

# Whole numbers of up to 64 bits: a sign, and which bits are set, from the highest.
wide_numbers <- list(
  list(1, 0), list(-1, 0), list(1, 53), list(1, c(53, 0)), list(-1, c(53, 0)), list(1, c(53, 1, 0)), list(1, c(62, 0)),
  list(1, 62:0), list(-1, 62:0), list(1, c(62, 38)), list(1, c(62, 38, 0)), list(1, c(62, 39, 38)), list(1, c(24, 0)),
  list(1, c(25, 1, 0)), list(1, c(60, 36, 8, 0)), list(1, c(61, 37)), list(1, c(61, 37, 7, 0)), list(-1, c(61, 37, 7, 0)),
  list(1, c(15, 4)), list(1, c(15, 4, 0)), list(1, 15:4), list(1, c(15:5, 3:0)), list(1, c(62, 54)),
  list(1, c(62, 54, 0)), list(1, c(12, 1)), list(1, c(62, 54, 38)), list(1, c(60, 52, 28, 0)), list(1, c(7, 0)), list(-1, 7)
)

wide_value <- function(number) {
  part <- function(bits) sum(2^bits)
  high <- part(number[[2]][number[[2]] >= 32] - 32)
  low <- part(number[[2]][number[[2]] < 32])
  x <- bit64::as.integer64(high) * bit64::as.integer64(2^32) + bit64::as.integer64(low)
  if (number[[1]] < 0) -x else x
}

# Rounded to a number of bits once, ties to even.
wide_nearest <- function(number, dtype) {
  bits <- number[[2]]
  last <- bits[1] - formats[[dtype]]$bits + 1
  kept <- sum(2^(bits[bits >= last] - last))
  rest <- bits[bits < last]
  half <- length(rest) > 0L && rest[1] == last - 1
  up <- half && (length(rest) > 1L || kept %% 2 == 1)
  value <- (kept + up) * 2^last
  number[[1]] * if (value > formats[[dtype]]$greatest) Inf else value
}

test_that("an integer64 is rounded once, keeps its bits, and is refused where it would be lost", {
  skip_if_not_installed("bit64")
  for (number in wide_numbers) {
    x <- wide_value(number)
    text <- as.character(x)
    for (dtype in setdiff(number_types, names(ends))) {
      near <- wide_nearest(number, dtype)
      expected <- if (startsWith(dtype, "c")) complex(real = near, imaginary = 0) else near
      got <- as_read(pjrt_scalar(x, dtype = dtype))
      if (!same_bits(got, expected)) {
        fail(sprintf("%s as %s is %s, expected %s", text, dtype, format(got, digits = 17), format(expected, digits = 17)))
      }
      exact <- is.finite(near) && sprintf("%.0f", near) == text
      refused <- inherits(condition_of(pjrt_scalar(x, dtype = dtype, check = TRUE)), "pjrtdispatch_error")
      if (refused == exact) fail(sprintf("%s as %s: refused is %s", text, dtype, refused))
    }
    for (dtype in names(ends)) {
      range <- bit64::as.integer64(ends[[dtype]])
      range[2] <- if (is.na(range[2])) bit64::lim.integer64()[2] else range[2]
      range[1] <- if (is.na(range[1])) bit64::lim.integer64()[1] else range[1]
      near <- as.character(if (x < range[1]) range[1] else if (x > range[2]) range[2] else x)
      read <- if (dtype == "i32" && near == "-2147483648") NA_character_ else near
      expect_identical(as.character(as_read(pjrt_scalar(x, dtype = dtype))), read)
      refused <- inherits(condition_of(pjrt_scalar(x, dtype = dtype, check = TRUE)), "pjrtdispatch_error")
      if (refused == (near == text)) fail(sprintf("%s as %s: refused is %s", text, dtype, refused))
    }
  }
  missing <- bit64::NA_integer64_
  for (dtype in number_types) {
    refused <- inherits(condition_of(pjrt_scalar(missing, dtype = dtype, check = TRUE)), "pjrtdispatch_error")
    expect_identical(refused, !dtype %in% c("f64", "c128"))
  }
  expect_identical(as_read(pjrt_scalar(missing, dtype = "f64")), NA_real_)
  expect_identical(as_read(pjrt_scalar(missing, dtype = "bf16")), NaN)
  expect_fault(pjrt_scalar(missing, dtype = "bool"), "dtype", "expected any dtype but bool for integer64 data")
})

test_that("a complex number goes to the complex types, part by part", {
  for (dtype in setdiff(all_types, c("c64", "c128"))) {
    expect_fault(pjrt_buffer(1i, dtype = dtype), "dtype", "expected dtype c64 or c128 for complex data", "data")
  }
  parts <- c(NA, NaN, Inf, -Inf, 0, -0, 0.1, 1e300, 1 + 2^-24 + 2^-50, 5e-324)
  for (re in parts) {
    for (im in parts) {
      x <- complex(real = re, imaginary = im)
      expect_true(same_bits(as_read(pjrt_scalar(x, dtype = "c128", check = TRUE)), x))
      got <- as_read(pjrt_scalar(x, dtype = "c64"))
      short <- function(y) if (is.na(y)) NaN else nearest(y, "c64")
      expect_true(same_bits(Re(got), short(re)) && same_bits(Im(got), short(im)))
      is_lost <- function(y) (is.na(y) && !is.nan(y)) || (is.finite(y) && is.infinite(short(y)))
      refused <- inherits(condition_of(pjrt_scalar(x, dtype = "c64", check = TRUE)), "pjrtdispatch_error")
      expect_identical(refused, is_lost(re) || is_lost(im))
    }
  }
})

test_that("the message tells which value is lost, in R's words", {
  expect_snapshot(error = TRUE, {
    pjrt_buffer(c(1, 2.5), dtype = "i32", check = TRUE)
    pjrt_buffer(matrix(c(1, 2, 3, 300), 2), dtype = "ui8", check = TRUE)
    pjrt_buffer(c(0, NA), dtype = "f32", check = TRUE)
    pjrt_buffer(c(0L, NA), dtype = "f32", check = TRUE)
    pjrt_buffer(1e39, check = TRUE)
    pjrt_buffer(16777217L, dtype = "f32", check = TRUE)
    pjrt_buffer(-1L, dtype = "ui64", check = TRUE)
    pjrt_buffer(c(1, NaN), dtype = "i64", check = TRUE)
    pjrt_buffer(2^63, dtype = "i64", check = TRUE)
    pjrt_buffer(c(1i, 1e39i), check = TRUE)
    pjrt_buffer(2, dtype = "bool", check = TRUE)
  })
})

test_that("check = TRUE on reading refuses what R has no number for", {
  refused <- function(x, dtype) {
    inherits(condition_of(as_array(pjrt_buffer(x, dtype = dtype), check = TRUE)), "pjrtdispatch_error")
  }
  expect_true(refused(-2^31, "i32"))
  expect_false(refused(-2^31 + 1, "i32"))
  expect_true(refused(-2^63, "i64"))
  expect_true(refused(2^63, "ui64"))
  expect_false(refused(2^63 - 1024, "ui64"))
  for (dtype in setdiff(all_types, "ui64")) {
    expect_false(refused(c(0, 1), dtype))
  }
  for (dtype in c("f16", "bf16", "f32", "f64", "c64", "c128")) {
    expect_false(refused(c(NaN, Inf, -Inf), dtype))
  }
  skip_if_not_installed("bit64")
  wide <- c("i64", "ui32", "ui64")
  for (dtype in wide) {
    expect_s3_class(as_array(pjrt_scalar(4294967295, dtype = dtype)), "integer64")
    expect_identical(as.character(as_array(pjrt_scalar(4294967295, dtype = dtype))), "4294967295")
  }
})
