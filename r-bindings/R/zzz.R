.onLoad <- function(libname, pkgname) {
  rs_attach(raise_)
  use_tengen(topenv())
}
