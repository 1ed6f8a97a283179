# The names, arguments and defaults that code written against the pjrt package relies on.

surface <- list(
  pjrt_plugin = alist(platform = ), as_pjrt_plugin = alist(x = ), plugin_attributes = alist(plugin = ),
  plugin_client_create = alist(plugin = , platform = , options = list()), plugins_downloaded = alist(platforms = NULL),
  install_pjrt = alist(cuda = NULL),
  pjrt_client = alist(platform = NULL, ... = ), as_pjrt_client = alist(x = ), devices = alist(x = NULL, ... = ),
  pjrt_device = alist(device = ), as_pjrt_device = alist(x = ), platform = alist(x = , ... = ),
  pjrt_program = alist(src = NULL, path = NULL, format = c("mlir", "hlo")),
  pjrt_compile = alist(program = , compile_options = new_compile_options(), device = NULL),
  pjrt_execute = alist(executable = , ... = , execution_options = NULL, simplify = TRUE, check = TRUE),
  pjrt_execution_options = alist(non_donatable_input_indices = integer(), launch_id = 0L),
  inspect_hlo = alist(program = , device = NULL),
  pjrt_register_custom_call = alist(target_name = , handler = , .package = NULL),
  pjrt_buffer = alist(data = , dtype = NULL, device = NULL, shape = NULL, check = FALSE, ... = ),
  pjrt_scalar = alist(data = , dtype = NULL, device = NULL, check = FALSE, ... = ),
  pjrt_empty = alist(dtype = , shape = , device = NULL), copy_buffer = alist(buffer = , device = ),
  elt_type = alist(x = ), dtype = alist(x = , ... = ), shape = alist(x = , ... = ), device = alist(x = , ... = ),
  as_array = alist(x = , check = FALSE, ... = ), as_raw = alist(x = , row_major = , ... = ), format_buffer = alist(buffer = ),
  as_array_async = alist(x = , ... = ), await = alist(x = , ... = ), is_ready = alist(x = , ... = ),
  value = alist(x = , ... = ),
  dispatcher = alist(
    capacity = , compile = , static = character(), backend = "pjrt", move_inputs = FALSE, default_device = NULL,
    extractor = NULL, context = NULL
  ),
  dispatch = alist(dispatcher = , args = ), dispatcher_size = alist(dispatcher = ),
  build_tree = alist(x = ), flatten = alist(x = ), unflatten = alist(tree = , x = ), flatten_fun = alist(f = , in_tree = ),
  map_tree = alist(.x = , .f = , ... = ), pmap_tree = alist(.l = , .f = , ... = ), tree_size = alist(tree = ),
  tree_equal = alist(a = , b = ), tree_hash = alist(tree = ), tree_diff = alist(a = , b = ), tree_repr = alist(tree = ),
  tree_root_kind = alist(tree = ), tree_child_names = alist(tree = ), tree_child_kinds = alist(tree = ),
  tree_child_sizes = alist(tree = ), tree_path = alist(tree = , i = ), tree_filter_by_names = alist(tree = , names = ),
  tree_concat = alist(children = , names = NULL), tree_leaf_mask = alist(tree = , groups = )
)

# Beyond that surface.
more <- list(
  dispatcher_stats = alist(dispatcher = ), dispatcher_clear = alist(dispatcher = ),
  dispatch_explain = alist(dispatcher = , args = ), expect_no_compile = alist(expr = ), release = alist(x = ),
  new_compile_options = alist(proto = raw()),
  register_r_handler = alist(name = , f = ),
  pjrt_skeleton = alist(program = , slots = NULL, device = NULL), run = alist(.skeleton = , ... = ),
  memory_report = alist(skeleton = ), dynamic_skeleton = alist(build = , capacity = ), skeleton_stats = alist(x = ),
  skeleton_clear = alist(x = ), save_skeleton = alist(skeleton = , path = ),
  load_skeleton = alist(path = , device = NULL), pjrt_cache = alist(), pjrt_cache_clear = alist()
)

# Without tengen, whose generics take the place of ours and have arguments of their own.
own <- function(name) {
  if (name %in% tengen_generics && is_installed("tengen")) NULL else getExportedValue("pjrtdispatch", name)
}

test_that("every function has the arguments and defaults of the pjrt package", {
  expected <- c(surface, more)
  for (name in names(expected)) {
    if (!is.null(own(name))) {
      expect_identical(formals(own(name)), as.pairlist(expected[[name]]), label = name)
    }
  }
})

test_that("the generics are generics, and have their methods", {
  methods <- list(
    devices = c("default", "PJRTClient"), platform = c("PJRTBuffer", "PJRTClient", "PJRTDevice", "PJRTLoadedExecutable"),
    pjrt_buffer = c("default", "integer64", "raw", "PJRTBuffer"), pjrt_scalar = c("default", "integer64", "raw", "PJRTBuffer"),
    dtype = "PJRTBuffer", shape = "PJRTBuffer", device = c("PJRTBuffer", "PJRTDevice", "PJRTLoadedExecutable", "PJRTSkeleton"),
    run = c("default", "PJRTSkeleton", "PJRTDynamicSkeleton"),
    as_array = c("PJRTBuffer", "AnvlArray"), as_raw = "PJRTBuffer", as_array_async = "PJRTBuffer",
    await = c("PJRTBuffer", "PJRTArrayPromise"), is_ready = c("PJRTBuffer", "PJRTArrayPromise"), value = "PJRTArrayPromise",
    `==` = c("PJRTDevice", "PJRTElementType"), `!=` = c("PJRTDevice", "PJRTElementType"),
    as.character = c("PJRTClient", "PJRTDevice", "PJRTElementType")
  )
  for (class in c(
    "PJRTPlugin", "PJRTClient", "PJRTDevice", "PJRTBuffer", "PJRTProgram", "PJRTLoadedExecutable", "PJRTElementType",
    "PJRTArrayPromise", "PJRTSkeleton", "PJRTDynamicSkeleton", "Dispatcher", "RTree"
  )) {
    methods$format <- c(methods$format, class)
    methods$print <- c(methods$print, class)
  }
  for (name in names(methods)) {
    for (class in methods[[name]]) {
      method <- getS3method(name, class, optional = TRUE, envir = asNamespace("pjrtdispatch"))
      expect_true(is.function(method), label = paste0(name, ".", class))
    }
  }
  raw <- formals(getS3method("pjrt_buffer", "raw", envir = asNamespace("pjrtdispatch")))
  expect_identical(names(raw), c("data", "...", "dtype", "device", "shape", "row_major"))
  printed <- formals(getS3method("print", "PJRTBuffer", envir = asNamespace("pjrtdispatch")))
  expect_true(all(c("max_rows", "max_width", "max_rows_slice") %in% names(printed)))
  expect_identical(as.list(printed[c("header", "footer")]), alist(header = TRUE, footer = NULL))
})

test_that("every object has its class, and prints and formats", {
  x <- pjrt_buffer(c(1, 2))
  program <- pjrt_program("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
  objects <- list(
    PJRTPlugin = pjrt_plugin("cpu"), PJRTClient = pjrt_client(), PJRTDevice = pjrt_device("cpu"), PJRTBuffer = x,
    PJRTProgram = program, PJRTLoadedExecutable = pjrt_compile(program), PJRTElementType = elt_type(x),
    PJRTArrayPromise = as_array_async(x), PJRTSkeleton = pjrt_skeleton(program),
    PJRTDynamicSkeleton = dynamic_skeleton(identity, 1), Dispatcher = plain()$d, RTree = build_tree(1)
  )
  for (class in names(objects)) {
    object <- objects[[class]]
    expect_s3_class(object, class, exact = TRUE)
    expect_match(format(object), paste0("^<", if (class == "PJRTElementType") "f32" else class))
    expect_output(expect_invisible(print(object)), "<", fixed = TRUE)
    expect_identical(withVisible(print(object))$value, object) |> capture.output()
  }
})
