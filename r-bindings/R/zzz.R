.onLoad <- function(libname, pkgname) {
  rs_attach(raise_)
  body(dispatch)[[2L]] <- rs_dispatch_symbol()
  assign("dispatch", dispatch, topenv())
  use_tengen(topenv())
  use_safetensors(topenv())
  use_anvl(topenv())
}
