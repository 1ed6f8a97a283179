# A dispatcher from R: one program family, compiled on the first call of each signature.
library(pjrtdispatch)

# The sum of two vectors, compiled once for each length and dtype.
add <- dispatcher(
  capacity = 64L,
  compile = function(info) {
    x <- info$avals[[1]]
    type <- sprintf("tensor<%dx%s>", x$shape, x$dtype)
    program <- pjrt_program(sprintf(
      "func.func @main(%%x: %1$s, %%y: %1$s) -> %1$s {
         %%sum = stablehlo.add %%x, %%y : %1$s
         return %%sum : %1$s
       }", type
    ))
    list(
      exec = pjrt_compile(program), client = pjrt_client(), device = pjrt_device("cpu:0"),
      out_tree = build_tree(0), out_avals = list(x[c("dtype", "shape")])
    )
  },
  default_device = function() pjrt_device("cpu:0")
)
array_of <- function(x) structure(list(data = pjrt_buffer(x), backend = "pjrt"), class = "AnvlArray")

print(dispatch(add, list(array_of(c(1, 2, 3)), array_of(c(10, 20, 30))))) # compiles
print(dispatch(add, list(array_of(c(4, 5, 6)), array_of(c(10, 20, 30))))) # the same signature: a hit
print(dispatch_explain(add, list(array_of(c(1, 2)), array_of(c(1, 2)))))
print(add)
stopifnot(dispatcher_stats(add)$compiles == 1, dispatcher_stats(add)$hits == 1)
