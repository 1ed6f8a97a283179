# A dispatcher from R: one program family, compiled on the first call of each signature.
library(pjrtdispatch)

# The sum of two arrays of one dtype and shape, compiled once for each of these and each device.
add <- dispatcher(
  capacity = 64L,
  compile = function(info) {
    x <- info$avals[[1]]
    # The type in StableHLO, which calls bool i1: tensor<2x3xf32>, tensor<i1> of a scalar.
    type <- sprintf("tensor<%s>", paste(c(x$shape, sub("bool", "i1", x$dtype)), collapse = "x"))
    device <- device(info$leaves[[1]]$data) # that of the call
    program <- pjrt_program(sprintf(
      "func.func @main(%%x: %1$s, %%y: %1$s) -> %1$s {
         %%sum = stablehlo.add %%x, %%y : %1$s
         return %%sum : %1$s
       }", type
    ))
    list(
      exec = pjrt_compile(program, device = device), client = as_pjrt_client(device), device = device,
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

# Another dtype and another shape: another program.
print(dispatch(add, list(array_of(matrix(1:4, 2)), array_of(matrix(1:4, 2)))))
stopifnot(dispatcher_stats(add)$compiles == 2)
