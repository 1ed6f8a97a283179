#' Clients
#'
#' A client is the connection to the devices of one platform. There is one for each platform, made at first use; it
#' lives as long as the session.
#'
#' @section Environment variables:
#' * `PJRT_PLATFORM`: the platform where none is named, `cpu` unless set.
#' * `PJRT_CPU_DEVICE_COUNT`: how many devices the CPU client has, unless the option `cpu_device_count` says so. Where
#'   neither does, the plugin decides; that of [install_pjrt()] makes 4.
#' * `PJRT_NPROC`: how many threads each pool of the CPU client has, as many as processors unless set. The plugin reads it
#'   when the client is made, and ignores what is less than 4: the plugins that we know have no pool of fewer threads. To
#'   use fewer processors, start R on as many of them (`taskset` on Linux).
#' * `PJRT_PLUGIN_PATH_CPU`: the file of the CPU plugin.
#'
#' @param platform The platform, `"cpu"` or `"cuda"`; `NULL` is the default one.
#' @param ... Options of the plugin, such as `cpu_device_count = 2L`, and `threads`, which sets `PJRT_NPROC` for the
#'   plugin. They count only where the client is made, and may be given again with the same values; one that the plugin
#'   does not know may be passed over by it. For `devices()`: for methods.
#' @param x A client, a device, or the name of a platform; `NULL` is the default one.
#' @return `pjrt_client()` and `as_pjrt_client()` a `PJRTClient`; `devices()` a list of [PJRTDevice][pjrt_device]s.
#'
#' @section Errors:
#' Options are an error where the client is there already and was made with others, for they come too late.
#' @seealso [pjrt_plugin()] for where the plugin comes from.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' client <- pjrt_client("cpu")
#' devices(client)
pjrt_client <- function(platform = NULL, ...) {
  options <- list(...)
  threads <- options[["threads"]]
  if (is.null(threads)) {
    return(rs_client(platform, options, "platform"))
  }
  is_number <- is.numeric(threads) && !is.object(threads) && length(threads) == 1L && !is.na(threads)
  if (!is_number || threads < 1 || threads %% 1 != 0) {
    got <- if (is_number) format(threads) else rs_describe(threads)
    raise_("option", sprintf("argument `threads`: expected a whole number from 1 on, got %s", got), "threads")
  }
  options <- options[names(options) != "threads"]
  if (rs_client_exists(platform)) {
    if (!identical(threads_of[[tolower(platform %||% default_platform())]], as.double(threads))) {
      raise_("option", "the client is there already; `threads` can be given only when it is made", "threads")
    }
    return(rs_client(platform, options, "platform"))
  }
  old <- Sys.getenv("PJRT_NPROC", NA)
  Sys.setenv(PJRT_NPROC = format(threads, scientific = FALSE))
  on.exit(if (is.na(old)) Sys.unsetenv("PJRT_NPROC") else Sys.setenv(PJRT_NPROC = old))
  client <- rs_client(platform, options, "platform")
  assign(rs_client_platform(client), as.double(threads), envir = threads_of)
  client
}

# The `threads` that clients were made with, by platform.
threads_of <- new.env()

#' @rdname pjrt_client
#' @export
as_pjrt_client <- function(x) {
  if (is.null(x) || is.character(x)) rs_client(x, list(), "x") else rs_client_of(x)
}

#' @rdname pjrt_client
#' @export
devices <- function(x = NULL, ...) UseMethod("devices")

#' @export
devices.default <- function(x = NULL, ...) rs_client_devices(as_pjrt_client(x))

#' @export
devices.PJRTClient <- function(x = NULL, ...) rs_client_devices(x)

#' The platform of an object
#'
#' @param x A buffer, an [AnvlArray], client, device or compiled program.
#' @param ... For methods.
#' @return The name of the platform, such as `"cpu"`.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' platform(pjrt_device("cpu:0"))
#' platform(pjrt_buffer(1:3))
platform <- function(x, ...) UseMethod("platform")

#' @export
platform.default <- function(x, ...) refuse(x, "a PJRTBuffer, PJRTClient or PJRTDevice")

#' @export
platform.PJRTClient <- function(x, ...) rs_client_platform(x)

#' @export
as.character.PJRTClient <- function(x, ...) rs_client_platform(x)

#' @export
format.PJRTClient <- function(x, ...) {
  sprintf("<PJRTClient %s of %s>", rs_client_platform(x), rs_client_description(x))
}

#' @export
print.PJRTClient <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# The platform where none is named.
default_platform <- function() {
  platform <- tolower(Sys.getenv("PJRT_PLATFORM"))
  if (nzchar(platform)) platform else "cpu"
}
