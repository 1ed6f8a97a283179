# An argument brought to a device by whatever converter there is for it.
on_device <- function(x, dtype = NULL) as_array(pjrt_buffer(x, dtype))

test_that("the converters that ship are registered, with nothing loaded for them", {
  listed <- converters()
  ours <- listed[listed$package %in% "pjrtdispatch", ]
  expect_true(all(ours$active))
  expect_identical(
    ours$class,
    c(
      "integer64", "Date", "POSIXct", "difftime", "factor", "data.frame", "denseMatrix", "sparseMatrix", "big.matrix", "H5D",
      "numpy.ndarray", "MappedArray"
    )
  )
  loaded <- run_r("cat(intersect(loadedNamespaces(), c('bit64', 'Matrix', 'bigmemory', 'hdf5r', 'reticulate')))")
  expect_identical(paste(loaded$out, collapse = ""), "")
})

test_that("dates are days, as doubles or integers", {
  days <- as.Date("2024-02-28") + 0:2
  buffer <- pjrt_buffer(days)
  expect_identical(as.character(dtype(buffer)), "f64")
  expect_identical(as.vector(as_array(buffer)), as.double(unclass(days)))
  expect_identical(values_of(convert_in("Date", days, "i32"), "i32"), array(as.integer(unclass(days)), 3))
  whole <- structure(19000:19002, class = "Date")
  expect_identical(on_device(whole), array(19000:19002, 3))
  expect_true(is.na(on_device(c(whole, NA))[[4]]))
  expect_fault(brought(convert_in("Date", days + 0.5, "i32"), "i32"), "value", "19781.5")
  expect_error(convert_in("Date", days + 1 / 3, "f32"), "dtype f32 would round 19781.3333333333, the days of element 1")
})

test_that("a date comes back as one", {
  days <- c(a = as.Date("2024-02-28"), b = as.Date("2024-03-01"))
  back <- convert_out("Date", pjrt_buffer(unclass(days) + 1, "f64"), days)
  expect_identical(back, days + 1)
  expect_identical(convert_out("Date", pjrt_buffer(c(1L, 2L)), days[1]), as.Date(c("1970-01-02", "1970-01-03")))
})

test_that("times are seconds, and keep their time zone", {
  times <- as.POSIXct(c(1709118000.25, 1719784800), origin = "1970-01-01", tz = "Europe/Zurich")
  expect_identical(as.vector(on_device(times)), as.double(times))
  expect_error(convert_in("POSIXct", times, "f32"), "dtype f32 would round 1709118000.25, the seconds of element 1")
  expect_identical(convert_out("POSIXct", pjrt_buffer(as.double(times) + 60, "f64"), times), times + 60)
})

test_that("time differences keep their units", {
  time <- as.difftime(c(1, 2.5), units = "hours")
  expect_identical(as.vector(on_device(time)), c(1, 2.5))
  expect_identical(convert_out("difftime", pjrt_buffer(c(2, 5), "f64"), time), time * 2)
})

test_that("times are refused where a float type rounds them, and only there", {
  numbers <- c(
    0, 1, 0.5, 2.5, 0.1, 1 / 3, 255, 256, 257, 2047, 2048, 2049, 2050, 4096, 32768, 65504, 1e-5, 2^-24, 3 * 2^-24, 2^-14 + 2^-24,
    2^c(-24:15), -2^c(-24:15) * 1.0009765625, 16777215, 16777216, 16777217, 2^100, -1e10, NA, Inf, -Inf, NaN
  )
  for (dtype in c("f32", "f16", "bf16")) {
    held <- numbers[!is.finite(numbers) | abs(numbers) <= if (dtype == "f16") 65504 else Inf]
    on <- as.vector(on_device(held, dtype))
    refused <- vapply(held, function(x) {
      tryCatch(is.null(convert_in("Date", structure(x, class = "Date"), dtype)), error = function(e) TRUE)
    }, NA)
    expect_identical(refused, is.finite(held) & on != held, info = dtype)
  }
  week <- as.difftime(c(NA, 1, 257), units = "days")
  expect_error(convert_in("difftime", week, "bf16"), "dtype bf16 would round 257, the days of element 3")
})

test_that("a factor is its codes, and the codes are a factor again", {
  letters <- factor(c(x = "b", y = "a", z = "b"), levels = c("a", "b", "c"))
  expect_identical(as.vector(on_device(letters)), c(2L, 1L, 2L))
  expect_identical(values_of(convert_in("factor", letters, "f32"), "f32"), array(c(2, 1, 2)))
  back <- convert_out("factor", pjrt_buffer(c(3L, 1L, 1L)), letters)
  expect_identical(back, factor(c(x = "c", y = "a", z = "a"), levels = c("a", "b", "c")))
  expect_s3_class(convert_out("factor", pjrt_buffer(1L, shape = 1), factor("a", ordered = TRUE)), c("ordered", "factor"), exact = TRUE)
  expect_error(convert_out("factor", pjrt_buffer(c(4L, 1L, 1L)), letters), "element 1 of the result is 4")
  expect_error(convert_out("factor", pjrt_buffer(c(1.5, 1, 1)), letters), "element 1 of the result is 1.5")
  missing <- factor(c("a", NA))
  condition <- expect_fault(on_device(missing), "converter", "element 2 is NA, for which there is no code")
  expect_match(conditionMessage(condition), "the converter `factor` failed", fixed = TRUE)
})

test_that("a data frame is a matrix of its columns", {
  data <- data.frame(a = 1:3, b = c(0.5, NA, 2), row.names = c("x", "y", "z"))
  expect_identical(on_device(data), cbind(c(1, 2, 3), c(0.5, NA, 2)))
  expect_identical(values_of(convert_in("data.frame", data[c(1, 3), ], "f32"), "f32"), cbind(c(1, 3), c(0.5, 2)))
  back <- convert_out("data.frame", pjrt_buffer(cbind(4:6, 7:9), "f64"), data)
  expect_identical(back, data.frame(a = c(4, 5, 6), b = c(7, 8, 9), row.names = c("x", "y", "z")))
  expect_error(convert_out("data.frame", pjrt_buffer(matrix(1, 3, 3)), data), "a result of 2 columns")
  many <- as.data.frame(matrix(seq_len(5e5) / 3, 1e5))
  expect_identical(on_device(many), unname(as.matrix(many)))
  expect_identical(dim(on_device(data[0])), c(3L, 0L))
})

test_that("a column of a data frame that is not numeric is an error that names it", {
  data <- data.frame(a = 1, b = "x")
  expect_fault(on_device(data), "converter", "column `b`: expected numbers without a class, got a string", "data")
  data$b <- factor("x")
  expect_fault(on_device(data), "converter", "column `b`: expected numbers without a class, got a factor")
  data$b <- NULL
  data$c <- 300.5
  expect_error(convert_in("data.frame", data, "i8"), "column `c`: expected an integer from -128 to 127 (i8), got 300.5", fixed = TRUE)
})

test_that("no copy where none is allowed, and none of which the error would not say why", {
  frame <- data.frame(a = 1:3)
  expect_fault(with_copy("never", on_device(frame)), "converter", "may not copy, but copied 24 bytes", "data")
})

test_that("dispatch() takes objects of different classes in one call, and no program for another dtype", {
  d <- echo()$d
  day <- structure(19000L, class = "Date")
  call <- function(...) values(dispatch(d, list(...)))
  got <- call(as.Date("2022-01-08") + 0:1, factor(c("b", "a")), data.frame(a = c(1, 2)))
  expect_identical(got, list(array(c(19000, 19001)), array(2:1), matrix(c(1, 2))))
  expect_identical(compiles(d), 1L)
  call(as.Date("2022-01-10") + 0:1, factor(c("c", "d")), data.frame(a = c(3, 4)))
  expect_identical(compiles(d), 1L)
  # The same class, kept as integers.
  expect_identical(call(c(day, day), factor(c("c", "d")), data.frame(a = c(3, 4)))[[1]], array(c(19000L, 19000L)))
  expect_identical(compiles(d), 2L)
  wide <- structure(c(1, 2), class = "integer64")
  expect_identical(unclass(call(wide)[[1]]), unclass(as_array(pjrt_buffer(wide))))
})

test_that("a scalar is made of an object too", {
  day <- as.Date("2024-02-28")
  for (x in list(pjrt_scalar(day, "f64"), pjrt_buffer(day, "f64", shape = integer()))) {
    expect_identical(shape(x), integer())
    expect_identical(as_array(x), as.numeric(day))
  }
  one <- structure(list(), class = "one")
  with_converter("one", function(x, expected) {
    expect_identical(expected$shape, integer())
    7
  }, expr = expect_identical(as_array(pjrt_scalar(one)), 7))
  expect_fault(pjrt_scalar(day + 0:1), "converter", "gave shape [2], expected []", "data")
  expect_fault(pjrt_scalar(one), "type", "no converter is registered for an object of class `one`", "data")
  expect_fault(pjrt_scalar(bit64::as.integer64(1:2)), "type", "expected one value, got 2", "data")
})
