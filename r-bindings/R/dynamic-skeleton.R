#' Skeletons by the layouts of their inputs
#'
#' A dynamic skeleton makes a [skeleton][pjrt_skeleton()] when inputs of new dtypes or shapes come, and keeps it for the next
#' ones.
#'
#' `dynamic_skeleton()` makes one, [run()] runs it. `skeleton_stats()` counts its runs, and `skeleton_clear()` makes it forget
#' its skeletons.
#'
#' @section Building:
#' `build(inputs)` gets a list with `list(dtype, shape)` for each input, which is also what the `slots` of [pjrt_skeleton()]
#' can be, and gives a skeleton for just these. It is called once for each combination, on R's own thread. It may run other
#' skeletons and dispatchers, but not the run that it is called for. If it raises an error, the run ends with that; then,
#' and when it gives anything but a skeleton for these layouts on the default device, nothing is kept.
#'
#' @section Inputs:
#' They are given in order, without names, as arrays or as R's data, see [run()]. R's data is uploaded at the dtype that has all
#' its values: a double as `f64`, an integer as `i32`, a logical as `bool`, a complex number as `c128`, an `integer64` as
#' `i64`. `NA` is an error in `i32`, `i64` and `bool`. A vector of length 1 without dimensions is a scalar.
#'
#' @param build A function of the layouts of the inputs, see below.
#' @param capacity The greatest number of skeletons to keep. The one that was not used for longest goes first.
#' @param x A dynamic skeleton.
#' @return `dynamic_skeleton()` a `PJRTDynamicSkeleton`. `skeleton_stats()` a list: `hits` and `misses` of runs, `compiles`
#'   (misses that gave a skeleton), `loads` (those of them whose program came from the [cache][pjrt_cache()] of earlier
#'   sessions), `evictions` to make room for others, `entries` now, and the `bytes` that they take as far as the plugin says.
#'   `skeleton_clear()` forgets all skeletons and gives `x`, invisibly.
#' @seealso [pjrt_skeleton()], [dispatcher()], and [expect_no_compile()], which tells of skeletons that are built too.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' twice <- dynamic_skeleton(
#'   function(inputs) {
#'     x <- inputs[[1]]
#'     cat("building for", x$dtype, "and shape", x$shape, "\n")
#'     type <- sprintf("tensor<%s>", paste(c(x$shape, x$dtype), collapse = "x"))
#'     pjrt_skeleton(
#'       sprintf(
#'         "func.func @main(%%x: %1$s) -> %1$s {
#'            %%y = stablehlo.add %%x, %%x : %1$s
#'            return %%y : %1$s
#'          }", type
#'       ),
#'       slots = inputs
#'     )
#'   },
#'   capacity = 8
#' )
#' run(twice, c(1, 2, 3))
#' run(twice, c(4, 5, 6))
#' run(twice, matrix(1:6, 2))
#' twice
#' str(skeleton_stats(twice))
dynamic_skeleton <- function(build, capacity) rs_dynamic_skeleton(build, capacity)

#' @export
run.PJRTDynamicSkeleton <- function(.skeleton, ...) .Call(savvy_rs_dynamic_run__impl, .skeleton, list(...))

#' @rdname dynamic_skeleton
#' @export
skeleton_stats <- function(x) rs_dynamic_stats(x)

#' @rdname dynamic_skeleton
#' @export
skeleton_clear <- function(x) invisible(rs_dynamic_clear(x))

#' @export
format.PJRTDynamicSkeleton <- function(x, ...) {
  stats <- rs_dynamic_stats(x)
  sprintf(
    "<PJRTDynamicSkeleton: %.0f of %s, %s, %s>",
    stats$entries, counted(rs_dynamic_about(x)$capacity, "skeleton"), counted(stats$hits, "hit"), counted(stats$misses, "miss", "misses")
  )
}

#' @export
print.PJRTDynamicSkeleton <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  layouts <- rs_dynamic_about(x)$layouts
  if (length(layouts) > 0L) {
    writeLines(paste0("  ", head_of(layouts, 10L)))
  }
  if (length(layouts) > 10L) {
    cat("... and ", counted(length(layouts) - 10L, "more skeleton"), "\n", sep = "")
  }
  invisible(x)
}
