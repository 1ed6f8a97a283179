# The families join those of pjrtdispatch while the package is loaded. No client is started before the first call.
.onLoad <- function(libname, pkgname) attach_families()

.onUnload <- function(libpath) detach_families()
