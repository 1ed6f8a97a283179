#' Devices
#'
#' There is one object for each device, which lives as long as the session, so devices can be compared by
#' [identical()].
#'
#' @param device,x A device, the name of one such as `"cpu"` or `"cpu:1"`, or `NULL` for the first device of the
#'   default platform.
#' @param e1,e2 Devices.
#' @return A `PJRTDevice`. `==` and `!=` compare devices.
#'
#' @section Errors:
#' The name of a device that the client does not have; the message lists those that it has.
#' @seealso [devices()] for all devices of a platform, [device()] for the one of a buffer, and [pjrt_client()] for how many
#'   there are.
#' @export
#' @examplesIf pjrtdispatch::plugins_downloaded("cpu")
#' pjrt_device("cpu:0")
#' pjrt_device("cpu") == pjrt_device("cpu:0")
#' identical(device(pjrt_buffer(1)), pjrt_device("cpu"))
pjrt_device <- function(device) {
  .Call(savvy_rs_device__impl, device, "device")
}

#' @rdname pjrt_device
#' @export
as_pjrt_device <- function(x) {
  .Call(savvy_rs_device__impl, x, "x")
}

#' @export
device.PJRTDevice <- function(x, ...) {
  # Is it one, and alive?
  rs_device_name(x)
  x
}

#' @export
platform.PJRTDevice <- function(x, ...) rs_device_platform(x)

#' @rdname pjrt_device
#' @export
`==.PJRTDevice` <- function(e1, e2) rs_device_equal(e1, e2)

#' @rdname pjrt_device
#' @export
`!=.PJRTDevice` <- function(e1, e2) !rs_device_equal(e1, e2)

#' @export
as.character.PJRTDevice <- function(x, ...) rs_device_name(x)

#' @export
format.PJRTDevice <- function(x, ...) sprintf("<PJRTDevice %s>", rs_device_name(x))

#' @export
print.PJRTDevice <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
