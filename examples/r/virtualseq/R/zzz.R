# The families join those of pjrtdispatch while the package is loaded, and its converters are there for every call. Both go when
# it is unloaded: what is registered in R, because its functions are this package's; what is in Rust, with the families.
.onLoad <- function(libname, pkgname) {
  attach_families()
  rs_register_integers()
  register_converter(
    "VirtualDoubleSequence", convert_double_sequence, reverse_double_scalar,
    description = "VirtualDoubleSequence to numeric"
  )
}

.onUnload <- function(libpath) detach_families()
