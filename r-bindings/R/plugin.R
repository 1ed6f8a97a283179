#' Plugins
#'
#' A plugin is the library that compiles and runs programs on one platform. It is loaded when the first client of its
#' platform is made, and stays loaded for the rest of the session.
#'
#' The plugin of a platform is the file that the environment variable `PJRT_PLUGIN_PATH_CPU` (or
#' `PJRT_PLUGIN_PATH_CUDA`) names, else the one that `install_pjrt()` got, else the one of a pip package.
#'
#' `install_pjrt()` downloads the CPU plugin (60 MB, for Linux on x86-64) with Python's pip, checks it against a known sum
#' and puts it into the cache directory: `$DISPATCH_CACHE_DIR`, else `$XDG_CACHE_HOME/dispatch-runtime`, else
#' `~/.cache/dispatch-runtime`. If it is there already nothing happens. A plugin for CUDA is installed by pip as a
#' package of Python.
#'
#' @section Errors:
#' Where no plugin is found, the error lists the places that were looked at. `PJRT_PLUGIN_PATH_CPU` with the name of a
#' file that is not there is an error: no other plugin is taken in its place. `install_pjrt()` tells what it lacks, such
#' as `bash`, pip or the network.
#'
#' @param platform,platforms The platform, `"cpu"` or `"cuda"`. `plugins_downloaded()` takes several; `NULL` is the
#'   default platform.
#' @param x A plugin, or the name of a platform.
#' @param plugin A plugin.
#' @param options A named list of options of the plugin, such as `list(cpu_device_count = 2L)`.
#' @param cuda The version of CUDA, `"12"` or `"13"`, to get the plugin for it too.
#' @return `pjrt_plugin()` and `as_pjrt_plugin()` a `PJRTPlugin`; `plugin_attributes()` a named list;
#'   `plugin_client_create()` a [PJRTClient][pjrt_client]; `plugins_downloaded()` `TRUE` if the plugins of all
#'   these platforms are there; `install_pjrt()` the path of the CPU plugin, invisibly.
#' @export
#' @examples
#' plugins_downloaded("cpu")
#' \dontrun{
#' install_pjrt()
#' }
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' plugin <- pjrt_plugin("cpu")
#' plugin
#' plugin_attributes(plugin)$stablehlo_current_version
pjrt_plugin <- function(platform) {
  .Call(savvy_rs_plugin__impl, platform)
}

#' @rdname pjrt_plugin
#' @export
as_pjrt_plugin <- function(x) {
  if (is.character(x)) {
    return(rs_plugin(x))
  }
  rs_plugin_about(x)
  x
}

#' @rdname pjrt_plugin
#' @export
plugin_attributes <- function(plugin) {
  rs_plugin_attributes(if (is.character(plugin)) rs_plugin(plugin) else plugin)
}

#' @rdname pjrt_plugin
#' @export
plugin_client_create <- function(plugin, platform, options = list()) {
  .Call(savvy_rs_plugin_client_create__impl, plugin, platform, options)
}

#' @rdname pjrt_plugin
#' @export
plugins_downloaded <- function(platforms = NULL) {
  platforms <- platforms %||% default_platform()
  if (!is.character(platforms) || anyNA(platforms)) {
    refuse(platforms, "the names of platforms")
  }
  for (platform in platforms) {
    if (!rs_plugin_found(platform)) {
      return(FALSE)
    }
  }
  TRUE
}

#' @rdname pjrt_plugin
#' @export
install_pjrt <- function(cuda = NULL) {
  if (!is.null(cuda)) {
    expect_choice(cuda, c("12", "13"), "NULL, \"12\" or \"13\"")
  }
  script <- system.file("scripts", "get-plugin", package = "pjrtdispatch", mustWork = TRUE)
  path <- run_installer("cpu", "bash", shQuote(script))
  if (!is.null(cuda)) {
    run_installer("cuda", "python3", c("-m", "pip", "install", sprintf("jax-cuda%s-pjrt", cuda)))
  }
  invisible(path)
}

# One of some words; the error shows what came, if it is one.
expect_choice <- function(x, choices, expected, argument = deparse(substitute(x))) {
  is_one <- is.atomic(x) && !is.object(x) && length(x) == 1L
  if (!is_one || !as.character(x) %in% choices) {
    got <- if (is_one && !is.na(x)) deparse(x) else rs_describe(x)
    raise_("value", sprintf("argument `%s`: expected %s, got %s", argument, expected, got), argument)
  }
}

# Runs a command that gets a plugin; what it prints.
run_installer <- function(platform, command, args) {
  failed <- function(reason) {
    raise_("install", paste0(
      "the ", platform, " plugin was not installed: ", reason, ". A plugin that is there already is used if ",
      "PJRT_PLUGIN_PATH_", toupper(platform), " has its path"
    ), NULL)
  }
  if (!nzchar(Sys.which(command))) {
    failed(paste(command, "is not in PATH"))
  }
  out <- suppressWarnings(system2(command, args, stdout = TRUE))
  status <- attr(out, "status")
  if (!is.null(status)) {
    failed(paste0("the command ended with status ", status, ", and said above why"))
  }
  as.character(out)
}

#' @export
format.PJRTPlugin <- function(x, ...) {
  about <- rs_plugin_about(x)
  sprintf("<PJRTPlugin %s, PJRT C API %s: %s>", about[[1]], about[[3]], about[[2]])
}

#' @export
print.PJRTPlugin <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
