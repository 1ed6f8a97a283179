# Vectors in a compact form, whose elements R makes when they are needed: whoever takes them lets them be.
form_of <- function(x) sub(".*\\((compact|expanded)\\).*", "\\1", utils::capture.output(.Internal(inspect(x)))[1])
n <- 100000L
plain <- function(x) as.vector(as_array(x))
# Runs a function on `1:n`, which has to be as compact after it as before it.
on_compact <- function(f) {
  x <- 1:n
  value <- f(x)
  expect_identical(form_of(x), "compact")
  value
}
identity_of <- function(type) pjrt_skeleton(sprintf("func.func @main(%%x: %1$s) -> %1$s { return %%x : %1$s }", type))

test_that("what is looked at tells compact vectors from others", {
  x <- 1:n
  expect_identical(form_of(x), "compact")
  x[2]
  expect_identical(form_of(x), "compact")
  sort(x + 0L)
  host_view(x, "i32")
  expect_identical(form_of(x), "expanded")
})

test_that("buffers are made of them", {
  expect_identical(on_compact(function(x) plain(pjrt_buffer(x))), seq_len(n))
  expect_identical(on_compact(function(x) as_array(pjrt_buffer(x, "f64", shape = c(400, 250)))), array(seq_len(n) + 0, c(400, 250)))
  expect_identical(on_compact(function(x) as_array(pjrt_buffer(x, "i64", shape = c(50, 40, 50))))[7, 5, 3], bit64::as.integer64(4 * 50 + 7 + 2 * 2000))
  expect_fault(pjrt_buffer(1:n, shape = c(2, 3)), "shape", "expected the shape of 100000 elements, got (2, 3)")
  # Doubles.
  expect_identical(plain(pjrt_buffer(3e9:(3e9 + n), "f64")), 3e9 + 0:n)
})

test_that("a value that is lost is told by its place", {
  expect_fault(on_compact(function(x) pjrt_buffer(x, "i8", check = TRUE)), "value", "128 as element 128")
  # In a later piece than the first.
  high <- (2^31 - 20000):(2^31 + 90000)
  expect_fault(run(identity_of("tensor<110001xi32>"), high), "value", "2147483648 as element 20001", "x")
  expect_fault(pjrt_buffer(high, "i32", check = TRUE), "value", "2147483648 as element 20001")
})

test_that("a buffer of one can be donated", {
  program <- pjrt_program(c(
    "func.func @main(%a: tensor<100000xi32> {jax.buffer_donor = true}) -> tensor<100000xi32> {",
    "  %r = stablehlo.add %a, %a : tensor<100000xi32>", "  return %r : tensor<100000xi32>", "}"
  ))
  exec <- pjrt_compile(program)
  expect_identical(plain(pjrt_execute(exec, pjrt_buffer(1:n))), 2L * seq_len(n))
})

test_that("skeletons take them", {
  expect_identical(on_compact(function(x) plain(run(identity_of("tensor<100000xf64>"), x))), seq_len(n) + 0)
  seen <- NULL
  d <- dynamic_skeleton(function(inputs) {
    seen <<- inputs[[1]]
    identity_of("tensor<100000xi32>")
  }, 1)
  expect_identical(on_compact(function(x) plain(run(d, x))), seq_len(n))
  expect_identical(seen, list(dtype = "i32", shape = n))
})

test_that("converters may give them", {
  numbers <- structure(list(n), class = "numbers")
  given <- 1:n
  with_converter("numbers", function(x, expected) given, expr = {
    expect_identical(plain(pjrt_buffer(numbers)), seq_len(n))
    expect_identical(plain(run(identity_of("tensor<100000xi32>"), numbers)), seq_len(n))
  })
  expect_identical(form_of(given), "compact")
})

test_that("views are filled with them", {
  view <- host_fill("f64", 2L * n)
  on_compact(function(x) fill(view, x))
  on_compact(function(x) fill(view, x))
  expect_identical(plain(brought(view)$buffer), rep(seq_len(n) + 0, 2))
  rows <- host_fill("i32", c(1000L, 200L))
  on_compact(function(x) fill(rows, x, rows = TRUE))
  on_compact(function(x) fill(rows, x, rows = TRUE))
  expect_identical(as_array(brought(rows)$buffer), rbind(matrix(seq_len(n), 500), matrix(seq_len(n), 500)))
})

test_that("functions made of families take them", {
  skip_if_not_installed("families")
  families <- asNamespace("families")
  numbers <- seq_len(n)
  expect_identical(on_compact(function(x) plain(families$plus(x, x))), 2 * numbers)
  expect_identical(on_compact(function(x) plain(families$next_integer(x))), numbers + 1L)
  expect_identical(on_compact(function(x) plain(families$doubled(x))), 2 * numbers)
  expect_identical(on_compact(function(x) plain(families$sum_list(list(x, x), list(x, x)))), 4 * numbers)
  expect_identical(on_compact(function(x) plain(families$add_to(x, x))), 2 * numbers)
  on_compact(function(x) family_warm(families$plus, x = x, y = x))
  on_compact(function(x) family_explain(families$plus, x, x))
})

test_that("`dispatch()` takes them", {
  program <- "func.func @main(%x: tensor<100000xi32>) -> tensor<100000xi32> { return %x : tensor<100000xi32> }"
  d <- dispatcher(10, function(info) {
    list(
      exec = pjrt_compile(pjrt_program(program)), client = pjrt_client(), device = pjrt_device("cpu"), out_tree = build_tree(1),
      out_avals = list(list(dtype = "i32", shape = n)), input_dtypes = "i32"
    )
  }, default_device = function() pjrt_device("cpu"))
  x <- 1:n
  with_converter("integer", function(x, expected) x, expr = {
    expect_identical(plain(dispatch(d, list(x))$data), seq_len(n))
  })
  expect_identical(form_of(x), "compact")
})
