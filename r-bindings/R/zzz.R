.onLoad <- function(libname, pkgname) {
  rs_attach(raise_, show_)
  rs_converter_functions(converter_handler, calling_package)
  assign("dispatch_symbol", rs_dispatch_symbol(), topenv())
  use_tengen(topenv())
  use_safetensors(topenv())
  use_anvl(topenv())
  use_converters()
}
