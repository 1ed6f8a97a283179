# What the targets give for matrices of one dtype, which may have batch dimensions before their own.
call_geqrf <- function(a, dtype = "f64", ...) {
  k <- min(tail(dim(a), 2))
  results <- list(list(dim(a), dtype), list(c(batch_of(a), k), dtype))
  setNames(call_target("geqrf", list(a), results, dtype, ...), c("packed", "tau"))
}

call_orgqr <- function(packed, tau, dtype = "f64", ...) {
  k <- min(tail(dim(packed), 2))
  results <- list(list(c(head(dim(packed), -1), k), dtype))
  call_target("orgqr", list(packed, array(tau, c(batch_of(packed), k))), results, dtype, ...)[[1]]
}

call_lu <- function(a, dtype = "f64", ...) {
  k <- min(tail(dim(a), 2))
  results <- list(list(dim(a), dtype), list(c(batch_of(a), k), "i32"))
  setNames(call_target("lu", list(a), results, dtype, ...), c("lu", "pivots"))
}

call_svd <- function(a, dtype = "f64", ...) {
  m <- tail(dim(a), 2)[[1]]
  n <- tail(dim(a), 2)[[2]]
  k <- min(m, n)
  results <- list(list(c(batch_of(a), m, k), dtype), list(c(batch_of(a), k), dtype), list(c(batch_of(a), k, n), dtype))
  setNames(call_target("svd", list(a), results, dtype, ...), c("u", "s", "vt"))
}

call_eigh <- function(a, dtype = "f64", ...) {
  results <- list(list(dim(a), dtype), list(head(dim(a), -1), dtype))
  setNames(call_target("eigh", list(a), results, dtype, ...), c("vectors", "values"))
}

batch_of <- function(a) head(dim(a), -2)

# The matrix of a batch, by its number.
matrix_of <- function(a, i) {
  sizes <- tail(dim(a), 2)
  matrix(matrix(a, ncol = prod(sizes))[i, ], sizes[[1]])
}
vector_of <- function(a, i) matrix(a, ncol = tail(dim(a), 1))[i, ]

random_matrix <- function(...) {
  set.seed(sum(c(...) * 7^seq_along(c(...))))
  array(rnorm(prod(c(...))), c(...))
}

# Columns have a sign that is anybody's choice: the largest element is made positive.
signs_of <- function(x) apply(x, 2, function(column) sign(column[which.max(abs(column))]))
with_signs <- function(x) sweep(x, 2, signs_of(x), "*")

expect_close <- function(x, expected, tolerance = 1e-10) {
  expect_identical(dim(x), dim(expected))
  expect_lt(max(0, abs(x - expected)), tolerance)
}

sizes <- list(c(1, 1), c(4, 4), c(6, 3), c(3, 6), c(1, 5), c(5, 1), c(70, 40), c(40, 70))

# The parts of what `lu` gives: P A = L U.
lower_of <- function(lu) {
  k <- min(dim(lu))
  l <- lu[, seq_len(k), drop = FALSE]
  l[upper.tri(l)] <- 0
  diag(l) <- 1
  l
}
upper_of <- function(lu) {
  u <- lu[seq_len(min(dim(lu))), , drop = FALSE]
  u[lower.tri(u)] <- 0
  u
}
swap_rows <- function(a, pivots) {
  for (i in seq_along(pivots)) {
    a[c(i, pivots[[i]]), ] <- a[c(pivots[[i]], i), ]
  }
  a
}

test_that("geqrf and orgqr give the QR decomposition that qr() gives", {
  for (size in sizes) {
    a <- random_matrix(size)
    k <- min(size)
    qr <- call_geqrf(a)
    r <- upper_of(qr$packed)
    q <- call_orgqr(qr$packed, qr$tau)
    expect_close(q %*% r, a)
    expect_close(crossprod(q), diag(k))
    # The decomposition is unique but for the signs, as long as R does not exchange columns.
    expected <- qr(a)
    expect_identical(expected$pivot, seq_len(size[[2]]))
    expect_close(with_signs(q), with_signs(qr.Q(expected)))
    expect_close(signs_of(q) * r, signs_of(qr.Q(expected)) * qr.R(expected))
  }
})

test_that("geqrf packs as LAPACK does", {
  a <- random_matrix(5, 3)
  qr <- call_geqrf(a)
  # Q is the product of the reflectors I - tau v v'.
  q <- diag(5)
  for (i in 1:3) {
    v <- c(rep(0, i - 1), 1, qr$packed[-seq_len(i), i])
    q <- q %*% (diag(5) - qr$tau[[i]] * v %o% v)
  }
  expect_close(q[, 1:3], call_orgqr(qr$packed, qr$tau))
})

test_that("lu gives what det() and solve() are made of", {
  for (size in sizes) {
    a <- random_matrix(size)
    lu <- call_lu(a)
    expect_type(lu$pivots, "integer")
    expect_close(lower_of(lu$lu) %*% upper_of(lu$lu), swap_rows(a, lu$pivots))
    # Pivoting leaves no factor above 1.
    expect_lte(max(abs(lower_of(lu$lu))), 1)
    if (size[[1]] == size[[2]]) {
      swaps <- sum(lu$pivots != seq_along(lu$pivots))
      expect_equal(prod(diag(lu$lu)) * (-1)^swaps, det(a), tolerance = 1e-10)
      b <- random_matrix(size[[1]], 2)
      x <- backsolve(upper_of(lu$lu), forwardsolve(lower_of(lu$lu), swap_rows(b, lu$pivots)))
      expect_close(x, solve(a, b))
    }
  }
})

test_that("lu of a singular matrix is no error", {
  lu <- call_lu(matrix(c(1, 2, 2, 4), 2))
  expect_close(lower_of(lu$lu) %*% upper_of(lu$lu), swap_rows(matrix(c(1, 2, 2, 4), 2), lu$pivots))
  expect_identical(lu$lu[2, 2], 0)
  expect_identical(call_lu(matrix(0, 3, 3))$pivots, array(1:3))
})

test_that("svd gives what svd() gives", {
  for (size in sizes) {
    a <- random_matrix(size)
    svd <- call_svd(a)
    expected <- svd(a)
    expect_close(c(svd$s), expected$d)
    expect_close(with_signs(svd$u), with_signs(expected$u))
    expect_close(with_signs(t(svd$vt)), with_signs(expected$v))
    expect_close(svd$u %*% (c(svd$s) * svd$vt), a)
  }
})

test_that("eigh gives what eigen() gives, ascending", {
  for (n in c(1, 2, 5, 60)) {
    a <- random_matrix(n, n)
    a <- a + t(a)
    eigh <- call_eigh(a)
    expected <- eigen(a, symmetric = TRUE)
    expect_close(c(eigh$values), rev(expected$values))
    expect_close(with_signs(eigh$vectors), with_signs(expected$vectors[, n:1, drop = FALSE]))
    expect_close(eigh$vectors %*% (c(eigh$values) * t(eigh$vectors)), a)
  }
})

test_that("eigh reads the lower triangle only", {
  a <- random_matrix(4, 4)
  a <- a + t(a)
  expected <- call_eigh(a)
  a[upper.tri(a)] <- NaN
  expect_identical(call_eigh(a), expected)
})

test_that("leading dimensions count matrices, each as if it were alone", {
  for (batch in list(3, c(2, 2))) {
    for (size in list(c(4, 4), c(5, 3), c(3, 5))) {
      a <- random_matrix(batch, size)
      qr <- call_geqrf(a)
      q <- call_orgqr(qr$packed, qr$tau)
      lu <- call_lu(a)
      svd <- call_svd(a)
      for (i in seq_len(prod(batch))) {
        alone <- matrix_of(a, i)
        one <- call_geqrf(alone)
        expect_identical(matrix_of(qr$packed, i), one$packed)
        expect_identical(vector_of(qr$tau, i), c(one$tau))
        expect_identical(matrix_of(q, i), call_orgqr(one$packed, one$tau))
        one <- call_lu(alone)
        expect_identical(matrix_of(lu$lu, i), one$lu)
        expect_identical(vector_of(lu$pivots, i), c(one$pivots))
        one <- call_svd(alone)
        expect_identical(matrix_of(svd$u, i), one$u)
        expect_identical(vector_of(svd$s, i), c(one$s))
        expect_identical(matrix_of(svd$vt, i), one$vt)
      }
      if (size[[1]] == size[[2]]) {
        eigh <- call_eigh(a)
        for (i in seq_len(prod(batch))) {
          one <- call_eigh(matrix_of(a, i))
          expect_identical(matrix_of(eigh$vectors, i), one$vectors)
          expect_identical(vector_of(eigh$values, i), c(one$values))
        }
      }
    }
  }
})

test_that("f32 is computed as f64 and rounded once", {
  single <- function(x) as_array(pjrt_buffer(x, dtype = "f32", shape = dim(x)))
  rounded <- function(results) {
    lapply(results, function(x) if (is.double(x)) single(x) else x)
  }
  a <- single(random_matrix(2, 6, 4))
  expect_identical(call_geqrf(a, "f32"), rounded(call_geqrf(a)))
  expect_identical(call_lu(a, "f32"), rounded(call_lu(a)))
  expect_identical(call_svd(a, "f32"), rounded(call_svd(a)))
  qr <- call_geqrf(a, "f32")
  expect_identical(call_orgqr(qr$packed, qr$tau, "f32"), single(call_orgqr(qr$packed, qr$tau)))
  a <- single(random_matrix(5, 5))
  expect_identical(call_eigh(a, "f32"), rounded(call_eigh(a)))
})

test_that("empty matrices and batches give empty results", {
  for (size in list(c(0, 3), c(3, 0), c(0, 0), c(2, 0, 3), c(0, 4, 3), c(0, 3, 3))) {
    a <- array(0, size)
    m <- tail(size, 2)[[1]]
    n <- tail(size, 2)[[2]]
    qr <- call_geqrf(a)
    expect_identical(dim(qr$packed), as.integer(size))
    expect_identical(dim(qr$tau), as.integer(c(batch_of(a), min(m, n))))
    expect_identical(dim(call_orgqr(qr$packed, qr$tau)), as.integer(c(batch_of(a), m, min(m, n))))
    expect_identical(dim(call_lu(a)$pivots), as.integer(c(batch_of(a), min(m, n))))
    svd <- call_svd(a)
    expect_identical(dim(svd$u), as.integer(c(batch_of(a), m, min(m, n))))
    expect_identical(dim(svd$vt), as.integer(c(batch_of(a), min(m, n), n)))
  }
  expect_identical(dim(call_eigh(array(0, c(0, 0)))$vectors), c(0L, 0L))
})

test_that("what is not finite gives NaN for its own matrix, and no error", {
  for (bad in c(NaN, NA, Inf, -Inf)) {
    a <- random_matrix(2, 5, 5)
    a[1, 4, 2] <- bad
    svd <- call_svd(a)
    for (result in svd) {
      expect_true(all(is.nan(matrix(result, 2)[1, ])))
    }
    expect_identical(matrix_of(svd$u, 2), call_svd(matrix_of(a, 2))$u)
    eigh <- call_eigh(a)
    expect_true(all(is.nan(c(vector_of(eigh$values, 1), matrix_of(eigh$vectors, 1)))))
    expect_identical(vector_of(eigh$values, 2), c(call_eigh(matrix_of(a, 2))$values))
    # These go on with what the arithmetic gives.
    qr <- call_geqrf(a)
    expect_true(anyNA(matrix_of(qr$packed, 1)))
    expect_false(anyNA(matrix_of(qr$packed, 2)))
    expect_true(anyNA(matrix_of(call_orgqr(qr$packed, qr$tau), 1)))
    lu <- call_lu(a)
    expect_true(all(lu$pivots %in% 1:5))
    expect_false(anyNA(matrix_of(lu$lu, 2)))
  }
})

test_that("subnormal numbers count, as they do in R", {
  a <- diag(c(3e-310, 1e-310))
  expect_identical(c(call_eigh(a)$values), c(1e-310, 3e-310))
  expect_identical(c(call_svd(a)$s), svd(a)$d)
})

test_that("row_major takes the matrices of a call without layouts", {
  same <- function(f, ...) {
    expect_identical(f(..., config = "row_major = true", layouts = FALSE), f(...))
  }
  for (size in list(c(4, 4), c(5, 3), c(2, 3, 5))) {
    a <- random_matrix(size)
    same(call_geqrf, a)
    qr <- call_geqrf(a)
    same(call_orgqr, qr$packed, qr$tau)
    same(call_lu, a)
    same(call_svd, a)
  }
  a <- random_matrix(4, 4)
  same(call_eigh, a)
})

test_that("wrong dtypes and shapes are errors that name the operand or result", {
  run <- function(target, operands, results) {
    executable <- pjrt_compile(call_program(target, operands, results))
    buffers <- lapply(operands, function(x) {
      pjrt_empty(c(f16 = "f16", i32 = "i32", f64 = "f64", f32 = "f32", "complex<f64>" = "c128")[[x[[2]]]], x[[1]])
    })
    await(do.call(pjrt_execute, c(list(executable), buffers, simplify = FALSE))[[1]])
  }
  for (dtype in c("f16", "i32", "complex<f64>")) {
    square <- list(c(3, 3), dtype)
    expect_error(run("geqrf", list(square), list(square, list(3, dtype))), "`a`.*f32 or f64", class = "pjrtdispatch_error")
    expect_error(run("eigh", list(square), list(square, list(3, dtype))), "`a`.*f32 or f64", class = "pjrtdispatch_error")
  }
  f64 <- function(...) list(c(...), "f64")
  expect_error(run("geqrf", list(f64(3)), list(f64(3), f64(3))), "`a`")
  expect_error(run("geqrf", list(f64(4, 3)), list(f64(4, 3), f64(4))), "`tau`.*3.*4")
  expect_error(run("geqrf", list(f64(4, 3)), list(f64(3, 4), f64(3))), "`packed`")
  expect_error(run("geqrf", list(f64(4, 3)), list(list(c(4, 3), "f32"), f64(3))), "`packed`.*f64.*f32")
  expect_error(run("orgqr", list(f64(4, 3), f64(2)), list(f64(4, 2))), "`tau`.*3.*2")
  expect_error(run("orgqr", list(f64(3, 4), f64(3)), list(f64(3, 4))), "`q`.*3.*4")
  expect_error(run("lu", list(f64(4, 3)), list(f64(4, 3), f64(3))), "`pivots`.*i32.*f64")
  expect_error(run("svd", list(f64(4, 3)), list(f64(4, 4), f64(3), f64(3, 3))), "`u`.*3.*4")
  expect_error(run("svd", list(f64(2, 4, 3)), list(f64(2, 4, 3), f64(3), f64(2, 3, 3))), "`s`")
  expect_error(run("eigh", list(f64(4, 3)), list(f64(4, 3), f64(4))), "`a`.*4.*3")
  expect_error(run("eigh", list(f64(3, 3), f64(3, 3)), list(f64(3, 3), f64(3))), "1.*2")
})

test_that("an attribute that the targets do not have is an error", {
  operands <- list(list(c(3, 3), "f64"))
  results <- list(list(c(3, 3), "f64"), list(3, "f64"))
  run <- function(config) {
    executable <- pjrt_compile(call_program("eigh", operands, results, config = config))
    await(pjrt_execute(executable, pjrt_empty("f64", c(3, 3)), simplify = FALSE)[[1]])
  }
  expect_error(run("rowmajor = true"), "rowmajor")
  expect_error(run("row_major = 1 : i32"), "row_major.*bool.*i32")
})

test_that("many runs on several threads give the same bits", {
  # Four independent calls in one program that is large enough to be run by the pool.
  n <- 60
  square <- mlir_type("f64", c(n, n))
  line <- mlir_type("f64", n)
  types <- list(list(c(n, n), "f64"))
  results <- list(list(c(n, n), "f64"), list(n, "f64"))
  calls <- vapply(1:4, function(i) {
    call <- custom_call("eigh", sprintf("%%x%d", i), types, results)
    sprintf("  %%x%d = stablehlo.multiply %%a, %%c%d : %s\n  %%r%d:2 = %s", i, i, square, i, call)
  }, "")
  constants <- sprintf("  %%c%d = stablehlo.constant dense<%d.0> : %s", 1:4, 1:4, square)
  program <- pjrt_program(c(
    sprintf("func.func @main(%%a: %s) -> (%s) {", square, paste(rep(line, 4), collapse = ", ")),
    constants, calls,
    sprintf("  return %s : %s", paste0("%r", 1:4, "#1", collapse = ", "), paste(rep(line, 4), collapse = ", ")),
    "}"
  ))
  executable <- pjrt_compile(program)
  a <- random_matrix(n, n)
  a <- a + t(a)
  x <- pjrt_buffer(a, dtype = "f64")
  run <- function() pjrt_execute(executable, x)
  pending <- lapply(1:20, function(i) run())
  first <- lapply(pending[[1]], as_array)
  expect_close(c(first[[1]]), rev(eigen(a, symmetric = TRUE)$values))
  for (results in pending) {
    expect_identical(lapply(results, as_array), first)
  }
})

test_that("a dispatcher runs programs with these calls", {
  d <- dispatcher(8L, function(info) {
    shape <- info$avals[[1]]$shape
    results <- list(list(shape, "f64"), list(shape[[1]], "f64"))
    list(
      exec = pjrt_compile(call_program("eigh", list(list(shape, "f64")), results)), client = pjrt_client(), device = cpu(),
      out_tree = build_tree(list(vectors = 1, values = 1)),
      out_avals = lapply(results, function(x) list(dtype = x[[2]], shape = as.integer(x[[1]])))
    )
  }, default_device = cpu)
  for (n in c(3, 5, 3)) {
    a <- random_matrix(n, n)
    a <- a + t(a)
    out <- dispatch(d, list(anvl(a, "f64")))
    expect_close(c(as_array(out$values$data)), rev(eigen(a, symmetric = TRUE)$values))
  }
  expect_identical(dispatcher_size(d), 2L)
})

test_that("a family of another package calls these targets, and its call shows what is printed", {
  skip_if_not_installed("families")
  a <- random_matrix(4, 4)
  a <- a + t(a)
  for (i in 1:2) {
    lines <- capture.output(values <- families::spectrum(pjrt_buffer(a, dtype = "f64")))
    lines <- c(lines, capture.output(await(values)))
    expect_identical(lines[[1]], "spectrum")
    expect_match(lines[[2]], "^\\[1\\] +-")
    expect_close(c(as_array(values)), rev(eigen(a, symmetric = TRUE)$values))
  }
})
