# An array of the backend "pjrt" that carries nothing but what is assumed of it.
anvl <- function(x, dtype = NULL, device = NULL) {
  structure(list(data = pjrt_buffer(x, dtype = dtype, device = device), backend = "pjrt"), class = "AnvlArray")
}

cpu <- function() pjrt_device("cpu:0")

mlir_type <- function(dtype, shape) {
  element <- switch(dtype, bool = "i1", c64 = "complex<f32>", c128 = "complex<f64>", dtype)
  paste0("tensor<", paste0(shape, rep("x", length(shape)), collapse = ""), element, ">")
}

# A program that gives its arguments as they are, compiled.
echo_program <- function(dtypes, shapes, device = NULL, gives = seq_along(dtypes), attributes = "") {
  types <- as.character(mapply(mlir_type, dtypes, shapes))
  names <- paste0("%a", seq_along(types))
  attributes <- rep_len(attributes, length(types))
  src <- sprintf(
    "func.func @main(%s) -> (%s) { return %s%s }",
    if (length(types)) paste0(names, ": ", types, attributes, collapse = ", ") else "",
    paste(types[gives], collapse = ", "),
    paste(names[gives], collapse = ", "),
    if (length(gives)) paste(" :", paste(types[gives], collapse = ", ")) else ""
  )
  pjrt_compile(pjrt_program(src), device = device)
}

r_dtypes <- c(double = "f32", integer = "i32", logical = "bool")

# What a callback for the backend "pjrt" gives: a program that gives back each dynamic leaf, in a list.
echo_result <- function(info, device = NULL, wrap = function(n) build_tree(as.list(seq_len(n)))) {
  avals <- info$avals[!info$is_static]
  bare <- vapply(avals, function(aval) aval$kind == "rdata", NA)
  dtypes <- vapply(avals, function(aval) aval$dtype, "")
  dtypes[bare] <- r_dtypes[dtypes[bare]]
  shapes <- lapply(avals, function(aval) aval$shape)
  device <- as_pjrt_device(device)
  list(
    exec = echo_program(dtypes, shapes, device),
    client = as_pjrt_client(device),
    device = device,
    out_tree = wrap(length(avals)),
    out_avals = mapply(function(d, s) list(dtype = d, shape = s), dtypes, shapes, SIMPLIFY = FALSE, USE.NAMES = FALSE),
    input_dtypes = ifelse(bare, dtypes, NA_character_)
  )
}

# A dispatcher of such programs. `told(d)` gives the infos that its callback got.
echo <- function(..., compile = echo_result, default_device = cpu) {
  infos <- list()
  d <- dispatcher(
    100L,
    function(info) {
      infos[[length(infos) + 1L]] <<- info
      compile(info)
    },
    default_device = default_device, ...
  )
  list(d = d, infos = function() infos)
}

values <- function(out) lapply(out, function(x) as_array(x$data))

# A dispatcher of another backend, whose arrays tell of themselves; its calls give what `fun` makes of the leaves.
plain <- function(fun = identity, static = character(), ..., backend = "plain", default_device = function() "here",
                  extractor = plain_extractor) {
  infos <- list()
  d <- dispatcher(
    100L,
    function(info) {
      infos[[length(infos) + 1L]] <<- info
      list(r_fun = fun)
    },
    static = static, backend = backend, default_device = default_device, extractor = extractor, ...
  )
  list(d = d, infos = function() infos)
}

plain_array <- function(data, dtype = "f64", device = "here", backend = "plain") {
  structure(list(data = data, type = dtype, device = device, backend = backend), class = "AnvlArray")
}

plain_extractor <- function(leaf) {
  shape <- dim(leaf$data)
  list(
    aval = list(dtype = structure(leaf$type, class = "DataType"), shape = as.integer(shape)),
    device = leaf$device, backend = leaf$backend
  )
}

compiles <- function(d) dispatcher_stats(d)$compiles
