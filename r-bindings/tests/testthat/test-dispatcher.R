test_that("a call compiles once for each signature, and gives the value of its own program", {
  p <- plain(function(leaves) leaves)
  expect_identical(dispatch(p$d, list(1)), list(1))
  expect_identical(dispatch(p$d, list(2)), list(2))
  expect_identical(dispatcher_size(p$d), 1L)
  expect_identical(dispatch(p$d, list(2L)), list(2L))
  expect_identical(dispatch(p$d, list(TRUE)), list(TRUE))
  expect_identical(dispatch(p$d, list(matrix(1, 2, 3))), list(matrix(1, 2, 3)))
  expect_identical(dispatch(p$d, list(matrix(2, 2, 3))), list(matrix(2, 2, 3)))
  expect_identical(dispatch(p$d, list(array(1))), list(array(1)))
  expect_identical(dispatcher_size(p$d), 5L)
  expect_length(p$infos(), 5)
})

test_that("the structure of the arguments is part of the key", {
  p <- plain(function(leaves) leaves)
  calls <- list(
    list(), list(1), list(list(1)), list(1, 2), list(list(1, 2)), list(list(1), 2), list(a = 1), list(b = 1), list(1, NULL),
    list(NULL, 1), list(list(), 1), list(setNames(list(), character()), 1), list(a = 1, 2), list(a_long_name = 1),
    list(a_long_name_too = 1), setNames(list(), character())
  )
  for (i in 1:2) for (args in calls) expect_identical(unlist(dispatch(p$d, args)), unname(unlist(args)))
  expect_identical(compiles(p$d), length(calls))
  latin1 <- "caf\xe9"
  Encoding(latin1) <- "latin1"
  dispatch(p$d, setNames(list(1), latin1))
  dispatch(p$d, setNames(list(1), "caf\u00e9"))
  expect_identical(compiles(p$d), length(calls) + 1L)
  expect_fault(dispatch(p$d, setNames(list(1, 2), c("a", NA))), "value", "expected names that are not NA", "args")
  expect_fault(dispatch(p$d, list(x = setNames(list(1), NA))), "value", "argument `x`: expected names that", "x")
})

test_that("compile gets exactly what the call is", {
  p <- plain(static = "s", context = function() c("a", "b"))
  args <- list(plain_array(matrix(1, 2, 3)), s = list(1L, "x"), list(k = 2, NULL), l = matrix(TRUE, 1, 2), 3L)
  dispatch(p$d, args)
  info <- p$infos()[[1]]
  expect_named(info, c("args", "in_tree", "leaves", "is_static", "avals", "default_device", "context"))
  expect_identical(info$args, args)
  expect_true(tree_equal(info$in_tree, build_tree(args)))
  expect_identical(info$leaves, flatten(args))
  expect_identical(info$is_static, c(FALSE, TRUE, TRUE, FALSE, FALSE, FALSE))
  expect_identical(info$avals, list(
    list(kind = "array", dtype = "f64", shape = 2:3), NULL, NULL,
    list(kind = "rdata", dtype = "double", shape = integer()),
    list(kind = "rdata", dtype = "logical", shape = 1:2),
    list(kind = "rdata", dtype = "integer", shape = integer())
  ))
  expect_null(info$default_device)
  expect_identical(info$context, c("a", "b"))
  dispatch(p$d, list(1))
  expect_identical(p$infos()[[2]]$default_device, "here")
})

test_that("bare data and an array of the same dtype and shape are two keys", {
  p <- plain(function(leaves) leaves[[1]])
  data <- array(1:3 + 0)
  expect_identical(dispatch(p$d, list(data)), data)
  expect_identical(dispatch(p$d, list(plain_array(data))), data)
  expect_identical(vapply(p$infos(), function(info) info$avals[[1]]$kind, ""), c("rdata", "array"))
})

test_that("the function of another backend gets the dynamic leaves, an array's $data", {
  p <- plain(function(leaves) leaves, static = c("s", "t"))
  got <- dispatch(p$d, list(t = 1, plain_array(array("any")), s = "x", list(2, y = TRUE)))
  expect_identical(got, list(array("any"), 2, TRUE))
  expect_null(dispatch(plain(function(leaves) NULL)$d, list(1)))
  expect_identical(dispatch(plain(length)$d, list(1, 2)), 2L)
})

test_that("a static argument is one by its name at the top only", {
  p <- plain(function(leaves) leaves, static = "s")
  expect_identical(dispatch(p$d, list(list(s = 1))), list(1))
  expect_identical(dispatch(p$d, list(1)), list(1))
  expect_fault(dispatch(p$d, list("a")), "type", "got a string", "[[1]]")
  expect_identical(dispatch(p$d, list(s = "a")), list())
  expect_identical(dispatch(p$d, list(s = NULL)), list())
  expect_identical(compiles(p$d), 4L)
})

test_that("an input is an array of the backend, a scalar or an array of R, and is named by its path otherwise", {
  p <- plain()
  refused <- function(args, path, got) {
    message <- paste0(
      "argument `", path, "`: expected an AnvlArray of backend \"plain\", or a logical, integer or double scalar or array",
      " without a class, got ", got
    )
    expect_fault(dispatch(p$d, args), "type", message, path)
  }
  refused(list("a"), "[[1]]", "a string")
  refused(list(1, x = 1:2), "x", "an integer vector of length 2")
  refused(list(b = list(w = list(1, numeric()))), "b$w[[2]]", "a double vector of length 0")
  refused(list(`a b` = as.raw(1)), "`a b`", "a raw value")
  refused(list(1i), "[[1]]", "a complex value")
  refused(list(f = mean), "f", "a function")
  refused(list(structure(1L, class = "thing")), "[[1]]", "a thing")
  refused(list(x = structure(list(a = 1), class = "frame")), "x", "a frame")
  refused(list(x = quote(a)), "x", "a symbol")
  expect_fault(
    dispatch(p$d, list(structure(1, class = "integer64"))), "converter",
    "the converter `bit64::integer64` gave dtype i64, and a backend other than \"pjrt\" takes what is logical, integer or double in R", "[[1]]"
  )
  expect_fault(dispatch(p$d, 1), "type", "argument `args`: expected a list of arguments, got a double value", "args")
  expect_fault(dispatch(p$d, data.frame(a = 1)), "type", "expected a list of arguments, got a data.frame")
  expect_fault(
    dispatch(p$d, list(x = plain_array(1, backend = "other"))), "type",
    "argument `x`: expected an AnvlArray of backend \"plain\", got one of backend \"other\"", "x"
  )
  deep <- 1
  for (i in 1:3000) deep <- list(deep)
  condition <- expect_fault(dispatch(p$d, deep), "value", "expected lists nested at most 2000 deep, got more")
  expect_lt(nchar(conditionMessage(condition)), 400)
  expect_length(p$infos(), 0)
})

test_that("the first array's device is the call's, and another one is an error unless inputs move", {
  p <- plain(function(leaves) leaves[[1]])
  here <- plain_array(array(1))
  there <- plain_array(array(2), device = "there")
  dispatch(p$d, list(here, plain_array(array(3))))
  dispatch(p$d, list(there, there))
  expect_identical(compiles(p$d), 2L)
  expect_fault(
    dispatch(p$d, list(here, b = there)), "device",
    "argument `b`: expected an array on here, where the first one is, got one on there", "b"
  )
  p <- plain(function(leaves) leaves[[1]], move_inputs = TRUE, default_device = NULL)
  expect_identical(dispatch(p$d, list(here, there)), array(1))
  expect_identical(dispatch(p$d, list(there, here)), array(2))
  expect_identical(dispatch(p$d, list(1, 2)), 1)
  expect_identical(compiles(p$d), 2L)
  expect_null(p$infos()[[2]]$default_device)
})

test_that("the default device is asked where no array has one, and is part of the key", {
  now <- "one"
  asked <- 0
  device <- function() {
    asked <<- asked + 1
    now
  }
  p <- plain(default_device = device)
  dispatch(p$d, list(plain_array(array(1))))
  expect_identical(asked, 0)
  dispatch(p$d, list(1))
  now <- paste0("on", "e")
  dispatch(p$d, list(1))
  expect_identical(c(asked, compiles(p$d)), c(2, 2))
  now <- "two"
  dispatch(p$d, list(1))
  expect_identical(compiles(p$d), 3L)
  expect_identical(p$infos()[[3]]$default_device, "two")
  p <- plain(move_inputs = TRUE, default_device = function() stop("asked"))
  expect_identical(dispatch(p$d, list(1)), list(1))
})

test_that("devices are compared by identity, else by identical()", {
  now <- new.env()
  p <- plain(default_device = function() now)
  dispatch(p$d, list(1))
  dispatch(p$d, list(1))
  expect_identical(compiles(p$d), 1L)
  now <- new.env()
  dispatch(p$d, list(1))
  expect_identical(compiles(p$d), 2L)
  on <- function(device) plain_array(array(1), device = device)
  dispatch(p$d, list(on(list("a", 1)), on(list("a", 1))))
  expect_fault(dispatch(p$d, list(on(list("a", 1)), on(list("a", 2)))), "device", "argument `[[2]]`", "[[2]]")
})

test_that("the context is asked for each call, checked, and part of the key", {
  now <- "f32"
  p <- plain(context = function() now)
  for (context in list("f32", "f64", "f32", c("f32", "i32"), character())) {
    now <- context
    dispatch(p$d, list(1))
  }
  expect_identical(lapply(p$infos(), `[[`, "context"), list("f32", "f64", c("f32", "i32"), character()))
  for (wrong in list(1, NULL, NA_character_, c("a", NA), list("a"))) {
    now <- wrong
    expect_fault(dispatch(p$d, list(1)), "value", "expected a function that gives a character vector without NA", "context")
  }
  expect_null({
    p <- plain()
    dispatch(p$d, list(1))
    p$infos()[[1]]$context
  })
})

test_that("an extractor's answer is checked", {
  answers <- list(
    `its result` = 1, `\`aval\`` = list(aval = 1), `\`aval$dtype\`` = list(aval = list(dtype = "f33", shape = 1L)),
    `\`aval$shape\`` = list(aval = list(dtype = "f32", shape = -1), device = 1, backend = "plain"),
    `\`backend\`` = list(aval = list(dtype = "f32", shape = 1L)),
    `\`device\`` = list(aval = list(dtype = "f32", shape = 1L), backend = "plain")
  )
  for (what in names(answers)) {
    p <- plain(extractor = function(leaf) answers[[what]])
    expect_fault(dispatch(p$d, list(x = plain_array(array(1)))), "extractor", paste(" as", what), "x")
  }
  p <- plain(extractor = function(leaf) stop("no idea"))
  expect_error(dispatch(p$d, list(plain_array(1))), "^no idea$")
})

test_that("the arguments of dispatcher() are checked", {
  make <- function(capacity = 8L, compile = identity, ..., default_device = cpu) {
    dispatcher(capacity, compile, ..., default_device = default_device)
  }
  expect_s3_class(make(), "Dispatcher", exact = TRUE)
  expect_s3_class(make(8), "Dispatcher")
  expect_fault(make(0), "value", "expected a number from 1 on, got 0", "capacity")
  expect_fault(make(NA_integer_), "value", "NA", "capacity")
  expect_fault(make("a"), "type", "expected whole numbers, got a string", "capacity")
  expect_fault(make(compile = 1), "type", "expected a function, got a double value", "compile")
  expect_fault(make(static = 1), "type", "expected a character vector", "static")
  expect_fault(make(static = NA_character_), "value", "NA as element 1", "static")
  expect_fault(make(backend = c("a", "b")), "type", "expected a string", "backend")
  expect_fault(make(move_inputs = NA), "type", "expected TRUE or FALSE, got NA", "move_inputs")
  expect_fault(make(default_device = "cpu"), "type", "expected a function or NULL, got a string", "default_device")
  expect_fault(make(context = "f32"), "type", "expected a function or NULL", "context")
  expect_fault(make(default_device = NULL), "value", "a function unless `move_inputs` is TRUE, got NULL", "default_device")
  expect_s3_class(make(default_device = NULL, move_inputs = TRUE), "Dispatcher")
  expect_fault(make(backend = "quickr"), "value", "other than \"pjrt\" (this is \"quickr\"), got NULL", "extractor")
  expect_s3_class(make(backend = "quickr", extractor = identity), "Dispatcher")
  expect_identical(formals(dispatcher), as.pairlist(alist(
    capacity = , compile = , static = character(), backend = "pjrt", move_inputs = FALSE, default_device = NULL,
    extractor = NULL, context = NULL
  )))
  expect_fault(dispatch(1, list()), "type", "expected a Dispatcher, got a double value", "dispatcher")
  expect_fault(dispatcher_size(pjrt_client()), "type", "expected a Dispatcher, got a PJRTClient", "dispatcher")
})

test_that("the program that was not used for longest makes room", {
  count <- 0
  d <- dispatcher(2L, function(info) {
    count <<- count + 1
    list(r_fun = identity)
  }, backend = "plain", move_inputs = TRUE, extractor = identity)
  for (args in list(list(1), list(1L), list(1), list(TRUE), list(1))) dispatch(d, args)
  expect_identical(c(count, dispatcher_size(d)), c(3, 2))
  dispatch(d, list(1L))
  expect_identical(count, 4)
  expect_identical(dispatcher_stats(d)[1:6], list(hits = 2L, misses = 4L, compiles = 4L, loads = 0L, evictions = 2L, entries = 2L))
  expect_invisible(dispatcher_clear(d))
  expect_identical(dispatcher_size(d), 0L)
  expect_output(print(d), "<Dispatcher plain: 0 of 2 programs, 2 hits, 4 misses>", fixed = TRUE)
})

test_that("an entry that is evicted while it runs stays whole", {
  d <- NULL
  d <- dispatcher(1L, function(info) {
    if (is.integer(info$args[[1]])) {
      return(list(r_fun = identity))
    }
    text <- paste("kept", "alive")
    list(r_fun = function(leaves) {
      dispatch(d, list(1L))
      gc()
      text
    })
  }, backend = "plain", move_inputs = TRUE, extractor = identity)
  expect_identical(dispatch(d, list(1)), "kept alive")
  expect_identical(dispatch(d, list(1)), "kept alive")
})

test_that("a callback that fails leaves nothing, and its condition arrives", {
  fails <- TRUE
  d <- dispatcher(8L, function(info) {
    if (fails) stop(structure(class = c("mine", "error", "condition"), list(message = "not today", call = NULL)))
    list(r_fun = function(leaves) "fine")
  }, backend = "plain", move_inputs = TRUE, extractor = identity)
  expect_error(dispatch(d, list(1)), "^not today$", class = "mine")
  expect_identical(dispatcher_size(d), 0L)
  fails <- FALSE
  expect_identical(dispatch(d, list(1)), "fine")
  expect_identical(dispatcher_stats(d)[c("misses", "compiles")], list(misses = 2L, compiles = 1L))

  expect_error(dispatch(plain(function(leaves) stop("at run"))$d, list(1)), "^at run$")
  expect_error(dispatch(plain(context = function() stop("context"))$d, list(1)), "^context$")
  expect_error(dispatch(plain(default_device = function() stop("device"))$d, list(1)), "^device$")
  expect_warning(dispatch(plain(function(leaves) warning("mind"))$d, list(1)), "^mind$")
  skipped <- withRestarts(dispatch(plain(function(leaves) invokeRestart("skip", 3))$d, list(1)), skip = identity)
  expect_identical(skipped, 3)
  returned <- (function() {
    dispatch(plain(function(leaves) NULL, context = function() "x")$d, list(1))
    "after"
  })()
  expect_identical(returned, "after")
})

test_that("10 000 failing callbacks leave memory flat, also where warnings are errors", {
  old <- options(warn = 2)
  on.exit(options(old))
  d <- dispatcher(8L, function(info) stop("never"), backend = "plain", move_inputs = TRUE, extractor = identity)
  try_it <- function() tryCatch(dispatch(d, list(1)), error = conditionMessage)
  expect_identical(try_it(), "never")
  before <- gc()[, 1]
  for (i in 1:10000) try_it()
  after <- gc()[, 1]
  expect_lt(after[["Ncells"]] - before[["Ncells"]], 20000)
  expect_identical(dispatcher_size(d), 0L)
})

test_that("a callback may dispatch other calls, but not its own", {
  d <- NULL
  d <- dispatcher(8L, function(info) {
    x <- info$args[[1]]
    if (is.double(x)) {
      inner <- dispatch(d, list(1L))
      return(list(r_fun = function(leaves) paste("outer of", inner)))
    }
    if (is.logical(x)) dispatch(d, list(x))
    list(r_fun = function(leaves) "inner")
  }, backend = "plain", move_inputs = TRUE, extractor = identity)
  expect_identical(dispatch(d, list(1)), "outer of inner")
  expect_identical(dispatcher_size(d), 2L)
  expect_fault(dispatch(d, list(TRUE)), "recursive", "`compile` dispatches the very call that it is compiling")
  expect_identical(dispatcher_size(d), 2L)
})

test_that("the result of compile is checked: r_fun", {
  d <- function(result) plain_with(function(info) result)
  plain_with <- function(compile) {
    dispatcher(8L, compile, static = "s", backend = "plain", default_device = function() 1, extractor = plain_extractor)
  }
  expect_fault(dispatch(d(1), list(1)), "compile", "the result of `compile`: expected a named list, got a double value")
  expect_fault(dispatch(d(list(identity)), list(1)), "compile", "expected a named list, got a list of length 1")
  expect_fault(dispatch(d(list(a = 1)), list(1)), "compile", "field `r_fun`: expected a function, got NULL", "r_fun")
  expect_fault(dispatch(d(list(r_fun = "sum")), list(1)), "compile", "expected a function, got a string", "r_fun")
  with_dtypes <- function(x) d(list(r_fun = length, input_dtypes = x))
  args <- list(a = 1, s = "x", b = plain_array(array(1)))
  expect_identical(dispatch(with_dtypes(NULL), args), 2L)
  expect_identical(dispatch(with_dtypes(c(NA_character_, NA)), args), 2L)
  expect_identical(dispatch(with_dtypes(c(NA, NA)), args), 2L)
  expect_fault(
    dispatch(with_dtypes(NA_character_), args), "compile", "one entry per dynamic leaf, which are 2, got 1", "input_dtypes"
  )
  expect_fault(dispatch(with_dtypes(1:2), args), "compile", "expected a character vector", "input_dtypes")
  expect_fault(
    dispatch(with_dtypes(c("f32", NA)), args), "compile",
    "expected NA for all inputs, since backend \"plain\" uploads nothing, got \"f32\" for `a`", "input_dtypes"
  )
  expect_fault(dispatch(with_dtypes(c(NA, "f64")), args), "compile", "got \"f64\" for `b`", "input_dtypes")
})

test_that("a dispatcher is collected although its callback refers to it", {
  collected <- 0
  for (i in 1:20) {
    local({
      watched <- new.env()
      reg.finalizer(watched, function(x) collected <<- collected + 1)
      d <- dispatcher(8L, function(info) list(r_fun = function(leaves) list(d, watched)),
        backend = "plain", move_inputs = TRUE, extractor = identity
      )
      dispatch(d, list(1))
    })
  }
  for (i in 1:3) gc()
  expect_gte(collected, 19)
})

test_that("what was saved and loaded is no dispatcher", {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(plain()$d, file)
  expect_fault(dispatch(readRDS(file), list(1)), "dead", "expected a Dispatcher that is alive", "dispatcher")
})

test_that("dispatch_explain tells what is new about a call", {
  p <- plain(static = "s", context = function() context)
  context <- "f32"
  args <- list(x = plain_array(matrix(1, 2, 3)), b = list(w = list(1, 2L)), s = 1L)
  expect_identical(format(dispatch_explain(p$d, args)), "miss: nothing is compiled yet")
  dispatch(p$d, args)
  told <- dispatch_explain(p$d, args)
  expect_s3_class(told, "DispatchExplanation", exact = TRUE)
  expect_true(told$hit)
  expect_output(print(told), "^hit$")
  differs <- function(call, ...) {
    told <- dispatch_explain(p$d, call)
    expect_false(told$hit)
    expect_identical(told$differences, data.frame(...))
  }
  new <- args
  new$b$w[[2]] <- 2
  differs(new, part = "`b$w[[2]]`", now = "bare double[]", cached = "bare integer[]")
  new <- args
  new$x <- plain_array(matrix(1, 3, 3), dtype = "f32")
  differs(new, part = "`x`", now = "f32[3,3]", cached = "f64[2,3]")
  new <- args
  new$s <- TRUE
  differs(new, part = "`s`", now = "TRUE", cached = "1L")
  new$x <- plain_array(matrix(1, 2, 3), device = "there")
  differs(new, part = c("`s`", "the device"), now = c("TRUE", "\"there\""), cached = c("1L", "\"here\""))
  context <- "f64"
  differs(args, part = "the context", now = "\"f64\"", cached = "\"f32\"")
  expect_match(format(dispatch_explain(p$d, list(1))), "the structure is list(*), the nearest entry has", fixed = TRUE)
  long <- args
  long$s <- 1:100
  expect_match(dispatch_explain(p$d, long)$differences$now[1], "^an integer vector of length 100 \\([0-9a-f]{6}\\)$")
  expect_identical(dispatcher_stats(p$d)[c("hits", "misses")], list(hits = 0L, misses = 1L))
  expect_fault(dispatch_explain(p$d, list("a")), "type", "argument `[[1]]`")
})

test_that("expect_no_compile is an error with the reasons if something compiles", {
  p <- plain(static = "s")
  dispatch(p$d, list(1, s = 1))
  expect_identical(withVisible(expect_no_compile(dispatch(p$d, list(2, s = 1)))), list(value = list(2), visible = FALSE))
  expect_fault(
    expect_no_compile(dispatch(p$d, list(2, s = 2))), "compiled",
    "a program was compiled:\n* miss: `s` is 2, the nearest entry has 1"
  )
  expect_error(expect_no_compile(stop("other")), "^other$")
  expect_fault(
    expect_no_compile({
      try(expect_no_compile(dispatch(p$d, list(2, s = 3))), silent = TRUE)
      dispatch(p$d, list(2, s = 4))
    }), "compiled", "2 programs were compiled"
  )
})

test_that("compiles are logged on request", {
  p <- plain()
  expect_silent(dispatch(p$d, list(1)))
  old <- options(pjrtdispatch.verbose = TRUE)
  on.exit(options(old))
  expect_message(dispatch(p$d, list(1L)), "^pjrtdispatch: compiled in 0\\.[0-9]{3} s, miss: `\\[\\[1\\]\\]` is bare integer\\[\\]")
  expect_silent(dispatch(p$d, list(1L)))
})

test_that("a user's finalizer that dispatches at the end of the session does no harm", {
  code <- "
    d <- dispatcher(8L, function(info) list(r_fun = function(leaves) leaves[[1]]), backend = 'plain',
      move_inputs = TRUE, extractor = identity)
    e <- new.env()
    reg.finalizer(e, function(x) cat(dispatch(d, list(1))), onexit = TRUE)
    dispatch(d, list(2))
    q('no')"
  ended <- run_r(code)
  expect_identical(ended$status, 0L)
  expect_identical(ended$out[length(ended$out)], "1")
})

test_that("nothing breaks where R collects at every allocation", {
  p <- plain(function(leaves) leaves, static = "s", context = function() "c")
  args <- list(plain_array(matrix(1, 2, 3)), b = list(w = 2, TRUE), s = list(1, "x"))
  old <- gctorture2(3)
  on.exit(gctorture2(old))
  for (i in 1:2) got <- dispatch(p$d, args)
  told <- dispatch_explain(p$d, list(1))
  gctorture2(old)
  expect_identical(got, list(matrix(1, 2, 3), 2, TRUE))
  expect_false(told$hit)
})

test_that("many leaves are explained in short, and at once", {
  p <- plain()
  wide <- setNames(as.list(1:20000 + 0.5), paste0("v", 1:20000))
  dispatch(p$d, wide)
  took <- system.time({
    longer <- dispatch_explain(p$d, c(wide, list(1)))
    other <- dispatch_explain(p$d, lapply(wide, as.integer))
  })[["elapsed"]]
  expect_lt(took, 2)
  expect_match(format(longer), "the structure is list\\(v1 = \\*, .*\u2026 of 20001 leaves \\([0-9a-f]{6}\\), the nearest entry has list")
  expect_lt(nchar(format(longer)), 700)
  expect_match(format(other), "; and 19980 more$")
  expect_identical(nrow(other$differences), 20000L)
})

test_that("what an extractor says of an array is an array's, whatever else it says", {
  answer <- function(leaf) {
    list(backend = "plain", more = 1, device = "here", aval = list(kind = "rdata", shape = c(2, 3), dtype = type))
  }
  type <- "f64"
  p <- plain(extractor = answer)
  x <- plain_array(1)
  dispatch(p$d, list(x))
  expect_identical(p$infos()[[1]]$avals[[1]], list(kind = "array", dtype = "f64", shape = 2:3))
  # A dtype may be an object that turns into its name.
  registerS3method("as.character", "TypeOfTest", function(x, ...) x$name, envir = baseenv())
  type <- structure(list(name = "f64"), class = c("TypeOfTest", "DataType"))
  dispatch(p$d, list(x))
  expect_identical(compiles(p$d), 1L)
  type$name <- "i8"
  dispatch(p$d, list(x))
  expect_identical(p$infos()[[2]]$avals[[1]]$dtype, "i8")
  type$name <- c("i8", "i8")
  expect_fault(dispatch(p$d, list(x)), "extractor", "expected the extractor to give a DataType as `aval$dtype`", "[[1]]")
})

test_that("devices that are made anew are other ones, and stay alive with their entries", {
  p <- plain(default_device = function() new.env())
  for (i in 1:50) {
    dispatch(p$d, list(1))
    gc(FALSE)
  }
  expect_identical(compiles(p$d), 50L)
})

test_that("inputs are refused before the cache is looked at, also where their program is there", {
  p <- plain(function(leaves) leaves[[1]], context = function() "c")
  dispatch(p$d, list(a = plain_array(1), b = 2))
  before <- dispatcher_stats(p$d)
  expect_fault(dispatch(p$d, list(a = plain_array(1), b = "x")), "type", "argument `b`", "b")
  expect_fault(dispatch(p$d, list(a = plain_array(1, backend = "other"), b = 2)), "type", "argument `a`", "a")
  expect_identical(dispatcher_stats(p$d), before)
})

test_that("what a callback does to its info, or to the caller's list, changes nothing of the call", {
  args <- list(plain_array(1), k = 2)
  kept <- NULL
  d <- dispatcher(8L, function(info) {
    kept <<- info
    info$args[[2]] <- "changed"
    info$leaves[[1]] <- "changed"
    info$avals[[1]]$shape <- 99L
    info$is_static[] <- TRUE
    args <<- NULL
    gc()
    list(r_fun = function(leaves) leaves)
  }, backend = "plain", move_inputs = TRUE, extractor = function(leaf) {
    args <<- NULL
    gc()
    plain_extractor(leaf)
  })
  expect_identical(dispatch(d, args), list(1, 2))
  expect_identical(dispatch(d, list(plain_array(3), k = 4)), list(3, 4))
  expect_identical(kept$args$k, 2)
  expect_identical(dispatcher_stats(d)$compiles, 1L)
})

test_that("callbacks may clear the dispatcher, drop it, or dispatch from finalizers", {
  d <- NULL
  make <- function(fun) dispatcher(8L, function(info) list(r_fun = fun), backend = "plain", move_inputs = TRUE, extractor = identity)
  d <- make(function(leaves) {
    dispatcher_clear(d)
    gc()
    leaves
  })
  expect_identical(dispatch(d, list(1)), list(1))
  expect_identical(dispatch(d, list(2)), list(2))
  expect_identical(dispatcher_size(d), 0L)
  holder <- new.env()
  holder$d <- make(function(leaves) {
    rm("d", envir = holder)
    gc()
    gc()
    leaves
  })
  expect_identical(dispatch(holder$d, list(3)), list(3))
  d <- make(identity)
  ran <- 0
  for (i in 1:50) {
    local(reg.finalizer(new.env(), function(x) {
      dispatch(d, list(1, TRUE))
      ran <<- ran + 1
    }))
    expect_identical(dispatch(d, as.list(seq_len(i))), as.list(seq_len(i)))
  }
  gc()
  expect_gte(ran, 40)
  # Two that call each other for one key end with an error, and both go on.
  one <- two <- NULL
  pair <- function(other) {
    dispatcher(8L, function(info) {
      if (is.double(info$args[[1]])) dispatch(other(), list(1))
      list(r_fun = identity)
    }, backend = "plain", move_inputs = TRUE, extractor = identity)
  }
  one <- pair(function() two)
  two <- pair(function() one)
  expect_fault(dispatch(one, list(1)), "recursive", "`compile` dispatches the very call")
  expect_identical(dispatch(one, list(1L)), list(1L))
  expect_identical(c(dispatcher_size(one), dispatcher_size(two)), c(1L, 0L))
})

test_that("a size beyond R's integers reaches compile as it is", {
  p <- plain(extractor = function(leaf) {
    list(aval = list(dtype = "i8", shape = c(3e9, 2)), device = "here", backend = "plain")
  })
  dispatch(p$d, list(plain_array(1)))
  expect_identical(p$infos()[[1]]$avals[[1]]$shape, c(3e9, 2))
})

test_that("the function of another backend gets any number of leaves, and may end every entry or jump", {
  d <- NULL
  p <- plain(function(leaves) {
    # Nothing keeps the function but the call.
    dispatcher_clear(d)
    gc()
    if (identical(leaves, list(-1))) stop("no") else leaves
  })
  d <- p$d
  for (n in c(0, 1, 31, 32, 33, 100)) {
    args <- as.list(as.numeric(seq_len(n)))
    expect_identical(dispatch(d, args), args)
    expect_identical(dispatch(d, list(args)), args)
  }
  for (i in 1:3) {
    condition <- condition_of(dispatch(d, list(-1)))
    expect_identical(conditionMessage(condition), "no")
    expect_identical(dispatch(d, list(2)), list(2))
  }
  jumps <- plain(function(leaves) invokeRestart("away", leaves[[1]]))$d
  expect_identical(withRestarts(dispatch(jumps, list(5)), away = identity), 5)
})

test_that("callbacks that take nothing where they are given something are refused", {
  expect_fault(dispatcher(1, function() 1, move_inputs = TRUE), "value", "argument `compile`: expected a function of one argument (`info`), got one without arguments", "compile")
  expect_fault(
    dispatcher(1, identity, backend = "b", move_inputs = TRUE, extractor = function() 1),
    "value", "a function of one argument (an array)", "extractor"
  )
  expect_s3_class(dispatcher(1, function(...) 1, move_inputs = TRUE), "Dispatcher")
})

test_that("dispatch_explain() writes short static vectors out", {
  p <- plain(static = "s")
  dispatch(p$d, list(s = "zz"))
  now <- function(s) sub(",.*nearest.*", "", dispatch_explain(p$d, list(s = s))$differences$now)
  expect_identical(now(c(1, 2.5)), "c(1, 2.5)")
  expect_identical(now(1:3), "c(1L, 2L, 3L)")
  expect_identical(now(c(TRUE, NA)), "c(TRUE, NA)")
  expect_identical(now(c("a", "b")), "c(\"a\", \"b\")")
  expect_match(now(seq(0.5, 50)), "^a double vector of length 50 \\([0-9a-f]{6}\\)$")
})

test_that("the names of a context count", {
  context <- c(a = "x")
  p <- plain(context = function() context)
  dispatch(p$d, list(1))
  context <- c(b = "x")
  dispatch(p$d, list(1))
  expect_identical(compiles(p$d), 2L)
})

test_that("a dispatcher prints with the right plurals", {
  p <- plain()
  dispatch(p$d, list(1))
  expect_output(print(p$d), "1 of 100 programs, 0 hits, 1 miss>", fixed = TRUE)
  dispatch(p$d, list(1))
  expect_output(print(p$d), "1 hit, 1 miss>", fixed = TRUE)
})
