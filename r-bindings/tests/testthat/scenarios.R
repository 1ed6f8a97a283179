# A walk through the package, for tools that watch memory: R's collector at every so many allocations, valgrind,
# AddressSanitizer. Each scenario gives a value that does not depend on when R collects.
#
#   Rscript scenarios.R STEP [TIMES] [SCENARIO]...    STEP as gctorture2() takes it; 0 runs without torture
library(pjrtdispatch)

arguments <- commandArgs(trailingOnly = TRUE)
step <- if (length(arguments) > 0L) as.integer(arguments[[1L]]) else 0L
times <- if (length(arguments) > 1L) as.integer(arguments[[2L]]) else 1L

Sys.setenv(PJRT_CPU_DEVICE_COUNT = "2")
invisible(pjrt_client("cpu"))

said <- function(expr) tryCatch({ expr; "nothing" }, error = function(e) paste(class(e)[1], conditionMessage(e)))
program <- function(type, of = "stablehlo.add %a, %a", attribute = "") {
  pjrt_program(sprintf("func.func @main(%%a: %1$s%3$s) -> %1$s {\n%%r = %2$s : %1$s\nreturn %%r : %1$s }", type, of, attribute))
}
array_of <- function(x, dtype = NULL, device = NULL) {
  structure(list(data = pjrt_buffer(x, dtype, device), backend = "pjrt"), class = "AnvlArray")
}
plain <- function(fun, ..., extractor = function(x) NULL) {
  dispatcher(20L, function(info) list(r_fun = fun), backend = "plain", move_inputs = TRUE, extractor = extractor, ...)
}
twice <- pjrt_compile(program("tensor<3xf32>"))
eat <- pjrt_compile(program("tensor<3xf32>", attribute = " {tf.aliasing_output = 0 : i32}"))
three <- pjrt_compile(pjrt_program(
  "func.func @main(%k: tensor<f32>, %a: tensor<3xf32>, %p: tensor<2xf64>) -> (tensor<3xf32>, tensor<2xf64>, tensor<f32>) {
    return %a, %p, %k : tensor<3xf32>, tensor<2xf64>, tensor<f32> }"
))
result <- function(info, exec = twice, ...) {
  bare <- vapply(info$avals[!info$is_static], function(aval) aval$kind == "rdata", NA)
  list(
    exec = exec, client = pjrt_client(), device = pjrt_device("cpu:0"), out_tree = build_tree(1),
    out_avals = list(list(dtype = "f32", shape = 3L)), input_dtypes = ifelse(bare, "f32", NA), ...
  )
}
here <- function() pjrt_device("cpu:0")

scenarios <- list(
  skeletons = function() {
    s <- pjrt_skeleton(program("tensor<3xf32>"), c(n = "f32[3]"))
    d <- dynamic_skeleton(function(inputs) {
      pjrt_skeleton(program(sprintf("tensor<%s>", paste(c(inputs[[1]]$shape, inputs[[1]]$dtype), collapse = "x"))), slots = inputs)
    }, 2)
    broken <- dynamic_skeleton(function(inputs) if (length(inputs) == 1) stop("never") else run(broken, 1), 2)
    file <- tempfile()
    save_skeleton(s, file)
    list(
      as_array(run(load_skeleton(file), n = 1:3)), said(load_skeleton(tempdir())) != "",
      as_array(run(s, n = 1:3)), as_array(run(s, array_of(c(1, 2, 3)))), format(s), unclass(memory_report(s)),
      lapply(c(1, 2, 3, 1), function(n) as_array(run(d, as.numeric(seq_len(n))))), skeleton_stats(d)[1:6], capture.output(print(d)),
      said(run(s, m = 1)), said(run(s, n = 1, n = 2)), said(run(s, letters)), said(run(s)), said(run(broken, 1)),
      said(run(broken, 1, 2)), said(pjrt_skeleton(program("tensor<3xf32>"), list(list(dtype = "f3", shape = 1)))), said(run(d, NA))
    )
  },
  closure_engine = function() {
    d <- plain(function(leaves) leaves, static = c("s", "f"), context = function() c("a", "b"))
    f <- function(x, y = 2) x + y
    args <- list(1, b = list(w = matrix(1:4, 2), NULL, list()), s = list(1, "x", f, quote(a + b), factor("u")), f = f)
    list(
      dispatch(d, args), dispatch(d, args), dispatch(d, replace(args, "f", list(sum))),
      dispatch(d, replace(args, "s", list(data.frame(a = 1:3, b = c("x", NA, "z"))))),
      dispatch(d, replace(args, "s", list(bit64::as.integer64(1:3)))),
      dispatcher_stats(d)[c("hits", "misses", "entries")], format(d)
    )
  },
  static_values = function() {
    values <- list(
      1:10, c(a = 1, b = NA), NaN, "\u00fc", iconv("\u00fc", "UTF-8", "latin1"), as.raw(1:9), 1i, NULL, list(), quote(x),
      as.pairlist(list(a = 1)), expression(a, b), globalenv(), sum, structure(1, class = "k", more = list(1)),
      rev(seq_len(5)), as.character(1:5), function(x) x
    )
    lapply(values[c(1:10, 12, 15:17)], pjrtdispatch:::rs_static_words)
  },
  other_arrays = function() {
    d <- dispatcher(20L, function(info) list(r_fun = function(leaves) length(leaves)),
      backend = "other", default_device = function() "here",
      extractor = function(x) {
        list(aval = list(dtype = "f64", shape = as.numeric(dim(x$data))), device = paste0("he", "re"), backend = "other")
      }
    )
    x <- structure(list(data = matrix(1, 2, 2)), class = "AnvlArray")
    list(dispatch(d, list(x, x)), dispatch(d, list(x, 1)), said(dispatch(d, list("a"))), dispatch(d, list(1)))
  },
  wrong_arguments = function() {
    d <- plain(identity)
    deep <- list(a = list(1, b = list("x")))
    list(
      said(dispatch(d, deep)), said(dispatch(d, list(iris))), said(dispatch(d, 1)), said(dispatch(1, list())),
      said(dispatch(d, setNames(list(1), NA))), said(dispatcher(0, 1)), said(pjrt_buffer("a")), said(pjrt_device("cpu:9")),
      said(pjrt_buffer(c(1, NA), "i8", check = TRUE)), said(as_array(structure(1, class = "PJRTBuffer"))),
      said(unflatten(build_tree(1), list(1, 2))), said(pjrt_compile(pjrt_program("nonsense", format = "hlo"))) != ""
    )
  },
  failing_callbacks = function() {
    fails <- dispatcher(8L, function(info) stop("never"), backend = "plain", extractor = identity, move_inputs = TRUE)
    own <- dispatcher(8L, function(info) dispatch(own, info$args), backend = "plain", extractor = identity, move_inputs = TRUE)
    wrong <- function(...) {
      d <- dispatcher(8L, function(info) list(...), default_device = here)
      said(dispatch(d, list(1)))
    }
    list(
      said(dispatch(fails, list(1))), said(dispatch(own, list(1))), said(dispatch(plain(function(x) stop("late")), list(1))),
      said(dispatch(plain(identity, context = function() NA), list(1))), wrong(), wrong(exec = 1),
      wrong(exec = twice, client = pjrt_client(), device = here(), out_tree = build_tree(1), out_avals = "f32"),
      callCC(function(leave) dispatch(plain(function(x) leave("left")), list(1)))
    )
  },
  explain = function() {
    d <- plain(function(leaves) 1, static = "s")
    dispatch(d, list(1, s = 1))
    list(
      format(dispatch_explain(d, list(1, s = 1))), format(dispatch_explain(d, list(1L, s = "two"))),
      said(expect_no_compile(dispatch(d, list(1, s = 3)))), expect_no_compile(dispatch(d, list(2, s = 1))),
      length(dispatch_explain(d, list(list(2), s = function(x) x))$differences$part)
    )
  },
  pjrt_engine = function() {
    d <- dispatcher(20L, result, static = "s", default_device = here)
    x <- array_of(c(1, 2, 3))
    list(
      as_array(dispatch(d, list(x))$data), as_array(dispatch(d, list(x))), as_array(dispatch(d, list(array(1:3), s = 1))),
      dispatch(d, list(x))$shape, format(dispatch(d, list(a = list(x)))), dispatcher_size(d),
      said(dispatch(d, list(x, array_of(1, device = "cpu:1"))))
    )
  },
  constants_and_phantoms = function() {
    d <- dispatcher(20L, function(info) {
      list(
        exec = three, client = pjrt_client(), device = here(), out_tree = build_tree(list(a = 1, b = list(2, NULL), 3)),
        out_avals = list(
          list(dtype = "f32", shape = 3L), list(dtype = "f64", shape = 2L), list(dtype = "f32", shape = integer())
        ),
        const_arrays = list(pjrt_scalar(7)), phantom_specs = list(list(dtype = "f64", shape = 2L)), input_dtypes = "f32"
      )
    }, move_inputs = TRUE)
    out <- dispatch(d, list(array(c(1, 2, 3))))
    out <- dispatch(d, list(array(c(1, 2, 3))))
    list(names(out), lapply(flatten(map_tree(out, as_array)), c), length(out$b))
  },
  donation = function() {
    d <- dispatcher(20L, function(info) result(info, eat), default_device = here)
    x <- array_of(c(1, 2, 3))
    list(as_array(dispatch(d, list(x))), said(dispatch(d, list(x))), said(as_array(x)), said(dispatch(d, list("a"))))
  },
  moved_inputs = function() {
    d <- dispatcher(20L, result, move_inputs = TRUE, context = function() "c")
    there <- array_of(c(1, 2, 3), device = "cpu:1")
    list(as_array(dispatch(d, list(there))), format(dispatch(d, list(array_of(c(1, 2, 3))))))
  },
  buffers = function() {
    types <- c("bool", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64", "c64", "c128")
    m <- matrix(c(1, 0, 1, 1, 0, 1), 2)
    list(
      lapply(types, function(type) { x <- pjrt_buffer(m, type); list(as_array(x), as_raw(x, FALSE), format(x), shape(x)) }),
      as_array(pjrt_buffer(matrix(1:6, 2), shape = c(3, 2))), as_array(pjrt_buffer(TRUE)), as_array(pjrt_buffer(1L, "f64")),
      as_array(pjrt_buffer(bit64::as.integer64(c(1, NA)))), as_array(pjrt_empty("f32", c(2, 0, 3))),
      as_array(pjrt_buffer(1:1e4)), as_array(pjrt_buffer(as.raw(1:8), dtype = "i32", shape = 2L, row_major = TRUE)),
      as_array(pjrt_buffer(2, shape = c(2, 2))), as_array(pjrt_buffer(1i, "c64")), as_array(pjrt_scalar(3)),
      capture.output(print(pjrt_buffer(array(1:12, c(2, 3, 2))))), format_buffer(pjrt_buffer(1:3)), dtype(pjrt_buffer(1)),
      as_array(copy_buffer(pjrt_buffer(1:3), "cpu:1")), format(device(pjrt_buffer(1, device = "cpu:1"))),
      as_array(pjrt_buffer(1:3, check = TRUE), check = TRUE), said(pjrt_buffer(300L, "i8", check = TRUE))
    )
  },
  promises = function() {
    x <- pjrt_execute(twice, pjrt_buffer(c(1, 2, 3)))
    promise <- as_array_async(x)
    release(x)
    list(value(promise), value(await(promise)), format(promise), said(as_array(x)), format(x), is_ready(promise))
  },
  programs = function() {
    p <- program("tensor<4xf32>", "stablehlo.sine %a", "")
    exec <- pjrt_compile(pjrt_program(sub("%a", "%a", "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")))
    old <- options(pjrtdispatch.verbose = TRUE)
    on.exit(options(old))
    logged <- tryCatch(pjrt_compile(program("tensor<2xf32>")), message = function(m) sub("in .*", "", conditionMessage(m)))
    options(pjrtdispatch.verbose = NULL)
    list(
      format(exec), as_array(pjrt_execute(exec, pjrt_buffer(1:4, "f32"))), nchar(inspect_hlo(exec)) > 10, logged,
      lapply(pjrt_execute(three, pjrt_scalar(1), pjrt_buffer(c(1, 2, 3)), pjrt_buffer(c(1, 2), "f64")), as_array),
      said(pjrt_execute(exec, pjrt_buffer(1))), said(pjrt_compile(pjrt_program("nonsense"))) != "", nchar(format(p)) > 10,
      length(pjrt_execute(twice, pjrt_buffer(c(1, 2, 3)), simplify = FALSE)), said(pjrt_execute(twice))
    )
  },
  trees = function() {
    x <- list(a = 1, b = list(2, c = NULL, list()), "\u00fc" = list(3), 4)
    tree <- build_tree(x)
    list(
      flatten(x), unflatten(tree, list(5, 6, 7, 8)), tree_size(tree), tree_repr(tree), tree_hash(tree), format(tree),
      tree_equal(tree, build_tree(x)), tree_path(tree, 1:4), tree_diff(tree, build_tree(x[-2])), tree_child_names(tree),
      tree_child_sizes(tree), tree_child_kinds(tree), tree_root_kind(tree), map_tree(x, function(v) v + 1),
      pmap_tree(list(x, x), function(a, b) a * b), tree_repr(tree_concat(list(a = tree, tree))),
      tree_leaf_mask(tree, "b"), tree_repr(tree_filter_by_names(tree, c("a", "b"))), said(pmap_tree(list(x, 1), sum)),
      flatten_fun(function(a, b, ...) length(list(...)), tree)(1, 2, 3, 4)$leaves
    )
  },
  plugins_and_devices = function() {
    list(
      names(plugin_attributes(pjrt_plugin("cpu"))), platform(pjrt_client()), lapply(devices(), format), format(pjrt_client()),
      pjrt_device("cpu:0") == pjrt_device("cpu"), as.character(pjrt_device("cpu:1")), plugins_downloaded("cpu"),
      said(pjrt_client(threads = 2)), elt_type(pjrt_buffer(1)) == "f32", format(elt_type(pjrt_buffer(1L)))
    )
  }
)

chosen <- if (length(arguments) > 2L) arguments[-(1:2)] else names(scenarios)
failed <- FALSE
for (name in chosen) {
  expected <- scenarios[[name]]()
  started <- Sys.time()
  for (i in seq_len(times)) {
    old <- gctorture2(step)
    got <- scenarios[[name]]()
    gctorture2(old)
    if (!isTRUE(identical(got, expected))) {
      failed <- TRUE
      cat(name, ": not what it is without torture\n", sep = "")
      print(all.equal(expected, got))
    }
  }
  cat(sprintf("%-24s %6.1f s\n", name, as.numeric(Sys.time() - started, units = "secs")))
}
quit(status = failed)
