#' Functions that programs can call
#'
#' A program calls a function outside of itself by `stablehlo.custom_call` with the function's name, its target. These
#' targets are there on the CPU as soon as the package is loaded: decompositions of matrices, computed by the LAPACK that R
#' itself uses, and one that prints.
#'
#' | target | operands | results | R's own |
#' |---|---|---|---|
#' | `geqrf` | A `[m, n]` | packed `[m, n]`, tau `[k]` | [qr()] |
#' | `orgqr` | packed `[m, n]`, tau `[k]` | Q `[m, k]` | [qr.Q()] |
#' | `lu` | A `[m, n]` | LU `[m, n]`, pivots `[k]` | [det()], [solve()] |
#' | `svd` | A `[m, n]` | U `[m, k]`, s `[k]`, Vt `[k, n]` | [svd()] |
#' | `eigh` | A `[n, n]` | vectors `[n, n]`, values `[n]` | [eigen()] |
#' | `print_tensor` | x of any shape | none | [print()] |
#'
#' `k` is the smaller one of `m` and `n`. All arrays of a call have the same dtype, `f32` or `f64`, but for the pivots,
#' which are `i32`; `print_tensor` takes every dtype.
#'
#' * `geqrf` gives the QR decomposition as LAPACK packs it: R in the upper triangle, below it the reflectors, whose factors
#'   are `tau`. `orgqr` makes the first `k` columns of the orthogonal factor of both.
#' * `lu` gives both triangular factors in one, L without its diagonal of ones. Row `i` was swapped with row
#'   `pivots[i]`, counted from 1, in this order. A singular matrix is no error: U has a zero on its diagonal.
#' * `svd` gives the reduced decomposition, `A = U diag(s) Vt`, the singular values descending.
#' * `eigh` takes a symmetric matrix, of which it reads the lower triangle. The eigenvalues are ascending, unlike those of
#'   [eigen()].
#' * `print_tensor` prints its operand as [print()] shows a [buffer][print.PJRTBuffer()], with the same options and without
#'   the first line, between the lines that the attributes `print_header` and `print_footer` say, both of which may be left
#'   out. It needs `has_side_effect = true`, without which XLA removes it.
#'
#' @section Dimensions and layouts:
#' Any dimensions may stand before those of the table, the same in all operands and results: each matrix of the batch is
#' computed as if it were alone.
#'
#' The functions take and give matrices by columns, as LAPACK and R have them, while XLA has rows; so the call says it in
#' `operand_layouts` and `result_layouts`, from the dimension that runs fastest: `[0, 1]` for a matrix, `[1, 2, 0]` for a
#' batch of them, and the usual descending order for vectors. XLA does not tell the function, so a call without layouts has
#' to have the attribute `row_major = true`, or the results are wrong. `print_tensor` takes rows: its call has no layouts.
#'
#' @section Exactness:
#' `f32` is computed as `f64` and rounded once. The same input gives the same bits, as often and on whatever thread it is
#' run, as far as R's BLAS does that. Subnormal numbers are not flushed to zero, as XLA does it elsewhere.
#'
#' An empty matrix gives empty results. `svd` and `eigh` give `NaN` for a matrix of the batch that has an element which is
#' not finite (in what is read: `eigh` reads the lower triangle only), or for which LAPACK finds no answer, where R's
#' functions raise an error; the other targets go on with what the arithmetic gives.
#'
#' @section What is printed, and when:
#' R prints on its own thread only. What a program prints is shown when the call that runs it returns to R; if
#' the program runs on, as large ones do, while R waits for a result or at the next call of this package, [await()] for
#' instance. Several that do not depend on each other print in whatever order XLA runs them.
#'
#' @section Errors:
#' An operand or result of another dtype or shape, or an attribute that is not listed here: an error when the program is run,
#' which names it. LAPACK counts with 32 bits: `svd` of more than some 20000 rows and columns, and `eigh` of more than
#' 32000, are errors. A working space that does not fit into memory is an error too.
#'
#' @name custom_call_targets
#' @seealso [pjrt_program()], [pjrt_execute()].
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' program <- pjrt_program("
#'   func.func @main(%a: tensor<3x2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, tensor<2x2xf64>) {
#'     %r:3 = stablehlo.custom_call @svd(%a) {
#'       api_version = 4 : i32,
#'       operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
#'       result_layouts = [
#'         dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>
#'       ]
#'     } : (tensor<3x2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, tensor<2x2xf64>)
#'     return %r#0, %r#1, %r#2 : tensor<3x2xf64>, tensor<2xf64>, tensor<2x2xf64>
#'   }
#' ")
#' a <- matrix(c(2, 0, 1, 1, 3, 1), 3)
#' results <- pjrt_execute(pjrt_compile(program), pjrt_buffer(a, dtype = "f64"))
#' all.equal(c(as_array(results[[2]])), svd(a)$d)
#'
#' shout <- pjrt_compile(pjrt_program("
#'   func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
#'     stablehlo.custom_call @print_tensor(%x) {
#'       api_version = 4 : i32, has_side_effect = true,
#'       backend_config = {print_header = \"before the sum\", print_footer = \"\"}
#'     } : (tensor<2xf32>) -> ()
#'     %y = stablehlo.add %x, %x : tensor<2xf32>
#'     return %y : tensor<2xf32>
#'   }
#' "))
#' y <- pjrt_execute(shout, pjrt_buffer(c(1, 2), dtype = "f32"))
NULL
