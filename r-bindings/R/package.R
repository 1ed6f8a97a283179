#' pjrtdispatch: compiled array programs, dispatched by signature
#'
#' XLA compiles array programs for a device; a *PJRT plugin* is XLA for one platform. This package runs such programs from
#' R. Its centre is the [dispatcher()]: it keeps the compiled programs of one function, compiles again only for a
#' combination of dtypes, shapes and static values that is new, and otherwise runs what is there, in a few microseconds.
#'
#' @section Where to start:
#' `install_pjrt()` gets the plugin for the CPU, once. The vignette "Get started" goes from there to a dispatcher:
#' `vignettes/get-started.Rmd` in the sources, and `vignette("get-started", "pjrtdispatch")` where the package was
#' installed from the file that `scripts/build-r` makes.
#'
#' | what | functions |
#' |---|---|
#' | plugins | [install_pjrt()], [plugins_downloaded()], [pjrt_plugin()], [plugin_attributes()] |
#' | clients and devices | [pjrt_client()], [devices()], [pjrt_device()], [platform()] |
#' | arrays on a device | [pjrt_buffer()], [pjrt_scalar()], [pjrt_empty()], [copy_buffer()], [release()] |
#' | what they are | [dtype()], [shape()], [device()], [elt_type()] |
#' | back to R | [as_array()], [as_raw()], [await()], [is_ready()], [as_array_async()] |
#' | programs | [pjrt_program()], [pjrt_compile()], [pjrt_execute()], [inspect_hlo()] |
#' | functions that programs can call | [custom_call_targets] |
#' | skeletons: inputs of fixed layouts | [pjrt_skeleton()], [run()], [memory_report()], [save_skeleton()], [load_skeleton()], [dynamic_skeleton()], [skeleton_stats()] |
#' | compiled programs in the next session | [pjrt_cache()], [pjrt_cache_clear()] |
#' | dispatchers | [dispatcher()], [dispatch()], [dispatch_explain()], [expect_no_compile()], [dispatcher_stats()] |
#' | objects of any class as arguments | [register_converter()], [with_converter()], [converters()], [set_converter_status()], [remove_converter()], [with_copy()] |
#' | functions of other packages, made of Rust | [family_stats()], [family_explain()], [family_warm()], [family_clear()] |
#' | nested lists | [build_tree()], [flatten()], [unflatten()], [map_tree()], [tree_path()], [tree_diff()] |
#'
#' @section Errors:
#' Every error of the package is a condition of class `pjrtdispatch_error` with the fields `code`, a short name that never
#' changes; `argument`, the path of the argument to blame, such as `b$w[[2]]`, or `NULL`; and the message and the call as
#' always. That an argument without a default was left out may be an error of R itself. The codes:
#'
#' | code | what is wrong |
#' |---|---|
#' | `type`, `value`, `argument` | the type of an argument, its value, or that there is no such argument |
#' | `dtype`, `unknown_dtype`, `shape` | the dtype or the shape of data, or the name of a dtype |
#' | `device`, `client` | an array is on another device, or of another client |
#' | `donated`, `dead` | a buffer was donated to a program; an object was released, or is from another session |
#' | `argument_count` | a program takes more inputs or fewer |
#' | `program`, `invalid_program` | what a compiled program turned out to be; a program that cannot be read |
#' | `pjrt`, `unimplemented` | what the plugin or XLA says, of a compile or a run; what the plugin has not |
#' | `ffi_target`, `ffi_handler` | a program calls a handler that nobody registered; a handler that cannot be registered |
#' | `plugin`, `plugin_not_found`, `install`, `option` | a plugin that cannot be loaded, found or installed; an option of a plugin, a client or R |
#' | `converter` | a converter failed, gave what is no array or not the one expected, or two are for one object |
#' | `recursive`, `compiled` | a call that is compiled asks for itself; [expect_no_compile()] failed |
#' | `memory`, `file` | no memory is left on the host; a file or a directory that cannot be used |
#' | `forked`, `thread`, `detached`, `version`, `unloaded` | use from a forked process or another thread; packages that do not fit each other, or are unloaded |
#' | `graph`, `body`, `panic`, `error`, `internal` | program families written in Rust; faults of the toolkit |
#'
#' A child process made by `fork()` (`parallel::mclapply()`) gets an
#' error at its first use of the package; a PSOCK cluster works.
#'
#' @section Memory:
#' A buffer is freed when R collects it. R sees only a few bytes of it, so the package counts what all buffers hold and
#' lets R collect when that has grown much, or when a device has no memory left. [release()] frees a buffer at once.
#'
#' @section Options:
#' * `pjrtdispatch.verbose`: with `TRUE` each compile is logged with its reason and its time.
#' * `pjrtdispatch.cache`, `pjrtdispatch.cache_bytes`: where compiled programs are kept for the sessions to come, see
#'   [pjrt_cache()].
#' * `pjrt.print_max_rows`, `pjrt.print_max_width`, `pjrt.print_max_rows_slice`: see
#'   [print.PJRTBuffer()].
#'
#' @section Environment variables:
#' `PJRT_PLATFORM`, `PJRT_CPU_DEVICE_COUNT` and `PJRT_NPROC` are told of in [pjrt_client()], `PJRT_PLUGIN_PATH_CPU` and
#' `PJRT_PLUGIN_PATH_CUDA` in [pjrt_plugin()].
#'
#' @section For packages in C, C++ and Rust:
#' Other packages share the clients and buffers of this one by the functions in its header `pjrtdispatch.h` (list
#' `pjrtdispatch` under `LinkingTo` and `Imports`), which says who owns what.
#'
#' @keywords internal
#' @useDynLib pjrtdispatch, .registration = TRUE
"_PACKAGE"

`%||%` <- function(x, y) if (is.null(x)) y else x
