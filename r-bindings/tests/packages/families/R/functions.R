.onLoad <- function(libname, pkgname) attach_families()
.onUnload <- function(libpath) detach_families()

client_of <- function(platform) rs_client_of(platform)
device_of <- function(device) rs_device_of(device)
# Refuses the devices of other libraries, which it must not look into.
own_device <- function(x) rs_own_device(x)
upload <- function(x, device) rs_upload(x, device)
# A buffer that goes through this package unchanged.
same <- function(x) rs_same(x)
# Keeps a buffer, drops what was kept; how many references of ours there were.
hold <- function(x) rs_hold(x)
