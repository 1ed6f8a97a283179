#' Compiled programs that outlive the session
#'
#' With `options(pjrtdispatch.cache = dir)` programs that are compiled are kept in a directory, and loaded from there in the
#' sessions to come, which takes about a tenth of the time. That holds for whatever is compiled: by [pjrt_compile()] and the
#' callbacks of a [dispatcher()], for [skeletons][pjrt_skeleton()], and by the functions of other packages
#' (see [dispatch_family]).
#'
#' `pjrt_cache()` shows what is there and what this session did. `pjrt_cache_clear()` removes it.
#'
#' @section The option:
#' It is looked at whenever a program is compiled: it may be set before a client exists or after, changed, or set to `NULL`,
#' after which nothing is read or written. Programs that are loaded already stay. A good place is `~/.Rprofile`:
#' `options(pjrtdispatch.cache = tools::R_user_dir("pjrtdispatch", "cache"))`.
#'
#' The directory is made if it is not there. At most 1 GiB is kept, or `options(pjrtdispatch.cache_bytes = n)` bytes; the
#' programs go first that were not used for longest, by any session. Any number of sessions may use one directory at once.
#'
#' @section What is loaded:
#' A program is loaded only if all is equal that decides what is compiled: its text, its options, the build of the plugin, the
#' processor, the variables that XLA reads (such as `XLA_FLAGS`), the device. Otherwise, and where a file was changed or
#' damaged, it is compiled anew. What is not known for sure is not kept: programs for GPUs, on systems other than Linux,
#' of a client that was made with the option `threads`, or after a variable whose name starts with `XLA_` or `PJRT_` has changed
#' since the plugin was loaded.
#'
#' A directory that cannot be used is a warning, once, and programs are compiled as without a cache.
#'
#' @section Whose files are run:
#' The files are machine code. So the directory has to belong to you (or to the administrator), and nobody else may write to
#' it; one that is made here is for you alone.
#'
#' @param x What `pjrt_cache()` gives.
#' @param ... Not used.
#' @return `pjrt_cache()` a `PJRTCache`, a list: the `path` of the directory; the `entries` and `bytes` there now, by whichever
#'   session, and the bound `max_bytes`; and of this session, in all packages, the programs that were loaded (`hits`), that
#'   were not there and were compiled (`misses`), and that were written (`writes`), the files that were `refused`, the
#'   entries `evicted` for the bound, and how often the directory could not be used (`failed`). `pjrt_cache_clear()` gives the
#'   number of entries that it has removed, invisibly.
#'
#' @section Errors:
#' An option that is not the path of a directory, when a program is compiled. `pjrt_cache()` and `pjrt_cache_clear()` where the
#' option is not set, or the directory cannot be used.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' old <- options(pjrtdispatch.cache = file.path(tempdir(), "programs"))
#' program <- pjrt_program("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
#'   %y = stablehlo.cosine %x : tensor<3xf32>
#'   return %y : tensor<3xf32>
#' }")
#' cosine <- pjrt_compile(program) # compiles, and keeps it
#' cosine <- pjrt_compile(program) # loads it, as another session would
#' pjrt_cache()
#' pjrt_cache_clear()
#' options(old)
pjrt_cache <- function() structure(rs_cache(), class = "PJRTCache")

#' @rdname pjrt_cache
#' @export
pjrt_cache_clear <- function() invisible(rs_cache_clear())

#' @export
format.PJRTCache <- function(x, ...) {
  wrong <- c(refused = x$refused, evicted = x$evicted, failed = x$failed)
  wrong <- wrong[wrong > 0]
  c(
    sprintf("<PJRTCache %s>", x$path),
    sprintf("  %s, %s of at most %s", counted(x$entries, "program"), text_of_bytes(x$bytes), text_of_bytes(x$max_bytes)),
    sprintf(
      "  this session: %s, %s, %s",
      counted(x$hits, "hit"), counted(x$misses, "miss", "misses"), counted(x$writes, "write")
    ),
    if (length(wrong) > 0L) paste0("  ", paste(sprintf("%.0f %s", wrong, names(wrong)), collapse = ", "))
  )
}

#' @rdname pjrt_cache
#' @export
print.PJRTCache <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}
