# Measures the R package against its floors. Started by `tests/bench/benches/r.rs`:
#
#   Rscript measure.R PART FLOORS PLUGIN
#
# FLOORS is the compiled `floors.c`, PLUGIN the plugin that the package uses. What begins with "figure" is a result.

arguments <- commandArgs(TRUE)
part <- arguments[1]
library(pjrtdispatch)
folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
for (symbol in getDLLRegisteredRoutines(dyn.load(arguments[2]))$.Call) {
  assign(symbol$name, symbol)
}
source(file.path(folder, "harness.R"))
set.seed(20)
invisible(pjrt_client("cpu"))
invisible(.Call(floor_start, arguments[3]))

# The sum of `n` arguments f32[4], the last one a scalar if `scalar`.
program <- function(n, scalar = FALSE) {
  types <- rep("tensor<4xf32>", n)
  if (scalar) types[n] <- "tensor<f32>"
  arguments <- paste0("%a", seq_len(n), ": ", types, collapse = ", ")
  last <- if (scalar) {
    sprintf("%%last = stablehlo.broadcast_in_dim %%a%d, dims = [] : (tensor<f32>) -> tensor<4xf32>", n)
  }
  terms <- paste0("%a", seq_len(n))
  if (scalar) terms[n] <- "%last"
  sums <- c(terms[1], paste0("%s", seq_len(n)[-1]))
  lines <- sprintf("%s = stablehlo.add %s, %s : tensor<4xf32>", sums[-1], sums[-n], terms[-1])
  paste0(
    "func.func @main(", arguments, ") -> tensor<4xf32> {\n",
    paste(c(last, lines, paste("return", sums[n], ": tensor<4xf32>")), collapse = "\n"), "\n}\n"
  )
}

# An array as anvl makes one.
array_of <- function(values, shape = length(values)) {
  structure(
    list(
      data = pjrt_buffer(array(values), "f32", shape = shape), dtype = structure("f32", class = "DataType"),
      shape = shape, device = pjrt_device("cpu"), backend = "pjrt"
    ),
    class = "AnvlArray"
  )
}

compiled <- new.env()

# The result of `compile`: a program of as many arguments, compiled before.
answer <- function(n, scalar = FALSE, input_dtypes = NULL) {
  name <- paste(n, scalar)
  if (is.null(compiled[[name]])) compiled[[name]] <- pjrt_compile(pjrt_program(program(n, scalar)))
  list(
    exec = compiled[[name]], client = pjrt_client(), device = pjrt_device("cpu"), out_tree = build_tree(1),
    out_avals = list(list(dtype = "f32", shape = 4L)), input_dtypes = input_dtypes
  )
}

# A dispatcher of sums, with a static argument `s`.
sums <- function(capacity = 1000L) {
  dispatcher(
    capacity,
    function(info) {
      avals <- info$avals[!info$is_static]
      scalar <- any(vapply(avals, function(aval) length(aval$shape) == 0L, NA))
      uploads <- ifelse(vapply(avals, function(aval) aval$kind == "array", NA), NA_character_, "f32")
      answer(length(avals), scalar, uploads)
    },
    static = "s", default_device = function() pjrt_device("cpu")
  )
}

x <- array_of(c(1, 2, 3, 4))
y <- array_of(c(5, 6, 7, 8))
one <- function(shape) .Call(floor_buffer, as.numeric(seq_len(max(prod(shape), 1))), as.integer(shape))
bx <- one(4L)
by <- one(4L)
prepared <- function(buffers, scalar = FALSE) {
  .Call(floor_prepare, .Call(floor_compile, program(length(buffers), scalar)), buffers)
}

parts <- list()

# The hit of two arrays.
parts$hit <- function() {
  d <- sums()
  executable <- .Call(floor_compile, program(2L))
  # An `AnvlArray`, which is what the contract calls wrapped.
  like <- x
  execute <- function(x, y) .Call(floor_call_wrapped, executable, x, y, like)
  execute_alone <- function(x, y) .Call(floor_call, executable, x, y)
  raw <- prepared(list(bx, by))
  before <- list(x, y)
  made <- list(dispatch(d, list(x, y)), dispatch(d, list(y, y)))
  times <- rounds(list(
    "dispatch(d, list(x, y))" = case(dispatch(d, list(x, y))),
    "an R function that executes and wraps" = case(execute(bx, by)),
    "the same again" = case(execute(bx, by)),
    "one that gives the buffer alone" = case(execute_alone(bx, by)),
    "dispatch, list made before" = case(dispatch(d, before)),
    "dispatch, arrays from dispatch" = case(dispatch(d, made)),
    "raw execute, result ended" = case_in_c(function(n) .Call(floor_execute, raw, n))
  ), 1000L, 50L)
  show_rounds("R: a hit of two arrays f32[4]", times)
  at <- function(name) times[, name]
  dispatch_ <- at("dispatch(d, list(x, y))")
  execute_ <- at("an R function that executes and wraps")
  before_ <- at("dispatch, list made before")
  figure("R floor: raw execute, result ended", at("raw execute, result ended"), "µs")
  figure("R floor: an R function that executes and wraps", execute_, "µs")
  figure("R floor: the same with the buffer alone, no AnvlArray", at("one that gives the buffer alone"), "µs")
  figure("R control: the same minus itself", at("the same again") - execute_, "µs")
  figure("R hit: dispatch(d, list(x, y))", dispatch_, "µs")
  figure("R hit: dispatch minus an R function that executes and wraps", dispatch_ - execute_, "µs", 1.0)
  figure("R hit: dispatch minus one that gives the buffer alone", dispatch_ - at("one that gives the buffer alone"), "µs")
  figure("R hit: the same where the list is made before", before_ - execute_, "µs")
  figure("R hit: arrays that dispatch made, over others", at("dispatch, arrays from dispatch") - before_, "µs")
}

# The function of a family in Rust (r-bindings/tests/packages/families), of two arrays and a static value.
parts$generated <- function() {
  plus <- families::plus
  d <- sums()
  executable <- .Call(floor_compile, program(2L))
  like <- x
  execute <- function(x, y) .Call(floor_call_wrapped, executable, x, y, like)
  made <- plus(x, y, 1L)
  times <- rounds(list(
    "plus(x, y, 1L)" = case(plus(x, y, 1L)),
    "plus(x, y)" = case(plus(x, y)),
    "plus(made, made)" = case(plus(made, made)),
    "plus(x, c(1, 2, 3, 4))" = case(plus(x, c(1, 2, 3, 4))),
    "dispatch(d, list(x, y, s = 1L))" = case(dispatch(d, list(x, y, s = 1L))),
    "an R function that executes and wraps" = case(execute(bx, by))
  ), 1000L, 50L)
  show_rounds("R: the function of a family, two arrays f32[4] and a static integer", times)
  at <- function(name) times[, name]
  generated <- at("plus(x, y, 1L)")
  execute_ <- at("an R function that executes and wraps")
  figure("R hit: generated function of two arrays and a static", generated, "µs")
  figure("R hit: generated function minus an R function that executes and wraps", generated - execute_, "µs", 0.8)
  figure("R hit: generated function against dispatch() of the same", generated / at("dispatch(d, list(x, y, s = 1L))"), "times", 1)
  figure("R hit: the same where the static is a default", at("plus(x, y)") - execute_, "µs")
  figure("R hit: the same of arrays that it made", at("plus(made, made)") - execute_, "µs")
  figure("R hit: a vector of four instead of an array", at("plus(x, c(1, 2, 3, 4))") - at("plus(x, y)"), "µs")
}

# A static argument, and a bare number.
parts$arguments <- function() {
  d <- sums()
  s <- array_of(0.5, integer())
  with_static <- list(x, y, s = 3)
  without <- list(x, y)
  with_number <- list(x, 0.5)
  with_scalar <- list(x, s)
  times <- rounds(list(
    "dispatch" = case(dispatch(d, without)),
    "dispatch with a static scalar" = case(dispatch(d, with_static)),
    "dispatch(d, list(x, y))" = case(dispatch(d, list(x, y))),
    "dispatch(d, list(x, y, s = 3))" = case(dispatch(d, list(x, y, s = 3))),
    "dispatch with a scalar array" = case(dispatch(d, with_scalar)),
    "dispatch with a bare number" = case(dispatch(d, with_number)),
    "raw upload of a number, ended" = case_in_c(function(n) .Call(floor_upload, 0.5, n))
  ), 800L, 50L)
  show_rounds("R: a static argument, a bare number", times)
  at <- function(name) times[, name]
  static <- at("dispatch with a static scalar") - at("dispatch")
  with_list <- at("dispatch(d, list(x, y, s = 3))") - at("dispatch(d, list(x, y))")
  number <- at("dispatch with a bare number") - at("dispatch with a scalar array")
  upload <- at("raw upload of a number, ended")
  figure("R floor: raw upload of a scalar, ended", upload, "µs")
  figure("R hit: a static scalar added", static, "µs", 0.15)
  figure("R hit: a static scalar added, its list made too", with_list, "µs")
  figure("R hit: a bare double instead of an array, minus raw upload", number - upload, "µs", 0.5)
}

# An object that a converter in R makes an array of, which is there already.
parts$converter <- function() {
  d <- sums()
  object <- structure(list(1), class = "converted")
  own <- compiler::cmpfun(function(x, expected) y)
  expected <- list(dtype = NULL, shape = NULL, path = "[[2]]")
  before <- list(x, y)
  with_object <- list(x, object)
  idle <- case(dispatch(d, before))
  idle_times <- rounds(list("dispatch, no converter" = idle), 400L, 50L)
  register_converter("converted", own, description = "what the benchmark converts")
  times <- rounds(list(
    "dispatch" = case(dispatch(d, before)),
    "dispatch with an object" = case(dispatch(d, with_object)),
    "the converter's own function" = case(own(object, expected))
  ), 1000L, 50L)
  show_rounds("R: an object that a converter in R makes an array of", times)
  show_rounds("R: the same call before a converter was registered", idle_times)
  at <- function(name) times[, name]
  more <- at("dispatch with an object") - at("dispatch") - at("the converter's own function")
  figure("R hit: an R-level converter, minus its own R function's time", more, "µs", 1.5)
}

# The functions for buffers and programs.
parts$functions <- function() {
  executable <- answer(2L)$exec
  buffer_x <- x$data
  buffer_y <- y$data
  number <- pjrt_buffer(1)
  times <- rounds(list(
    "pjrt_buffer(1)" = case(pjrt_buffer(1)),
    "as_array(x)" = case(as_array(number)),
    "pjrt_execute(f, x, y)" = case(pjrt_execute(executable, buffer_x, buffer_y))
  ), 800L, 50L)
  show_rounds("R: functions", times)
  figure("R: pjrt_buffer(1)", times[, 1L], "µs", 5)
  figure("R: as_array() of one element", times[, 2L], "µs", 5)
  figure("R: pjrt_execute() of two arrays", times[, 3L], "µs", 5)
}

# Many arrays.
parts$leaves <- function() {
  d <- sums()
  arrays <- lapply(1:100, function(i) array_of(i + c(1, 2, 3, 4)))
  buffers <- lapply(1:100, function(i) one(4L))
  two <- arrays[1:2]
  in_tens <- lapply(0:9, function(i) arrays[10L * i + 1:10])
  named <- lapply(stats::setNames(in_tens, paste0("layer", 1:10)), function(ten) {
    stats::setNames(ten, paste0("weight", 1:10))
  })
  raw_two <- prepared(buffers[1:2])
  raw_hundred <- prepared(buffers)
  times <- rounds(list(
    "dispatch of 2" = case(dispatch(d, two)),
    "dispatch of 100 in lists of 10" = case(dispatch(d, in_tens)),
    "the same with names" = case(dispatch(d, named)),
    "raw execute of 2" = case_in_c(function(n) .Call(floor_execute, raw_two, n)),
    "raw execute of 100" = case_in_c(function(n) .Call(floor_execute, raw_hundred, n))
  ), 1500L, 13L)
  show_rounds("R: many arrays f32[4]", times)
  at <- function(name) times[, name]
  more <- at("raw execute of 100") - at("raw execute of 2")
  each <- function(name) (at(name) - at("dispatch of 2") - more) / 98
  figure("R floor: each further argument of raw execute", more / 98, "µs")
  figure("R hit: each further array of 100, minus raw execute", each("dispatch of 100 in lists of 10"), "µs", 0.08)
  figure("R hit: the same with names in all lists", each("the same with names"), "µs", 0.08)
}

# The engine that calls an R function.
parts$closure <- function() {
  seen <- list(
    aval = list(dtype = structure("f32", class = "DataType"), shape = 4L), device = "cpu", backend = "plain"
  )
  extractor <- function(leaf) seen
  r_fun <- function(leaves) leaves
  plain <- structure(list(data = c(1, 2, 3, 4), backend = "plain"), class = "AnvlArray")
  d <- dispatcher(
    1000L, function(info) list(r_fun = r_fun),
    backend = "plain", default_device = function() "cpu", extractor = extractor
  )
  times <- rounds(list(
    "dispatch(d, list(x))" = case(dispatch(d, list(plain))),
    "callbacks from C" = case_in_c(function(n) .Call(floor_callbacks, extractor, r_fun, plain, n))
  ), 1500L, 26L)
  show_rounds("R: closure engine, one array", times)
  more <- times[, "dispatch(d, list(x))"] - times[, "callbacks from C"]
  figure("R hit: closure engine minus its callbacks called from C", more, "µs", 1.0)
}

# A miss whose program is compiled already, against a hit. Each block has keys of its own.
parts$miss <- function() {
  blocks <- 600L
  calls <- 26L
  result <- answer(2L)
  d <- dispatcher(
    1e6, function(info) result,
    static = "s", default_device = function() pjrt_device("cpu")
  )
  # One that is full all the time.
  full <- dispatcher(
    8L, function(info) result,
    static = "s", default_device = function() pjrt_device("cpu")
  )
  key <- 0L
  lists <- function(n, new) lapply(seq_len(n), function(i) list(x, y, s = if (new) key <<- key + 1L else 0L))
  through <- compiler::cmpfun(function(d, lists) {
    start <- .Call(floor_now)
    for (args in lists) dispatch(d, args)
    (.Call(floor_now) - start) / length(lists)
  })
  hit <- function(n) through(d, lists(n, FALSE))
  miss <- function(n) through(d, lists(n, TRUE))
  evict <- function(n) through(full, lists(n, TRUE))
  times <- rounds(list("hit" = hit, "miss" = miss, "miss that evicts" = evict), blocks, calls)
  show_rounds("R: a miss without its compile", times)
  figure("R: a miss without its compile, over a hit", times[, "miss"] - times[, "hit"], "µs", 6)
  figure("R: the same where it evicts a program", times[, "miss that evicts"] - times[, "hit"], "µs")
}

# JAX in another process, in short blocks, and in blocks so long that R's collection of the results is part of them.
parts$jax <- function() {
  script <- file.path(folder, "../peers/add.py")
  pipes <- file.path(tempdir(), c("requests", "answers"))
  for (pipe in pipes) system2("mkfifo", shQuote(pipe))
  # The shell opens the pipes in this order, and each waits until the other end is opened too.
  start <- sprintf(
    "PYTHONPATH=%s JAX_PLATFORMS=cpu python3 %s <%s >%s",
    shQuote(Sys.getenv("DISPATCH_BENCH_JAX")), shQuote(script), shQuote(pipes[1]), shQuote(pipes[2])
  )
  system(start, wait = FALSE)
  requests <- fifo(pipes[1], "w", blocking = TRUE)
  answers <- fifo(pipes[2], "r", blocking = TRUE)
  peer <- function(n) {
    writeLines(as.character(n), requests)
    flush(requests)
    as.numeric(readLines(answers, 1L)) / n
  }
  d <- sums()
  cases <- list("dispatch(d, list(x, y))" = case(dispatch(d, list(x, y))), "jax.jit" = peer)
  times <- rounds(cases, 250L, 400L)
  long <- rounds(cases, 11L, 20000L, 100L)
  close(requests)
  close(answers)
  show_rounds("R: against jax.jit", times)
  show_rounds("R: the same in long blocks", long)
  figure("R peer: a call of jax.jit", times[, 2L], "µs")
  figure("R hit: dispatch against jax.jit", times[, 1L] / times[, 2L], "times", 0.5)
  figure("R hit: the same with the collection of the results", long[, 1L] / long[, 2L], "times")
}

# Large vectors and matrices, against memcpy into newly mapped memory.
parts$copies <- function() {
  numbers <- stats::runif(1e7)
  nine <- stats::runif(9e6)
  buffer <- await(pjrt_buffer(numbers, "f64"))
  vector <- await(pjrt_buffer(nine, "f64"))
  matrix <- await(pjrt_buffer(matrix(nine, 3000L), "f64"))
  # One run, and the memory given back before the next.
  once <- function(run) {
    function(n) {
      gc(FALSE)
      start <- .Call(floor_now)
      run()
      .Call(floor_now) - start
    }
  }
  upload <- function(n) {
    start <- .Call(floor_now)
    copy <- pjrt_buffer(numbers, "f64")
    await(copy)
    took <- .Call(floor_now) - start
    release(copy)
    took
  }
  times <- rounds(list(
    "memcpy of 1e7" = function(n) .Call(floor_copy, numbers),
    "upload of 1e7" = upload,
    "as_array() of 1e7" = once(function() as_array(buffer)),
    "as_array() of 9e6" = once(function() as_array(vector)),
    "as_array() of 3000 x 3000" = once(function() as_array(matrix))
  ), 15L, 1L, 1L)
  show_rounds("R: copies of doubles", times)
  at <- function(name) times[, name]
  figure("R floor: memcpy of 1e7 doubles into new memory", at("memcpy of 1e7") / 1e3, "ms")
  figure("R: upload of 1e7 doubles against memcpy", at("upload of 1e7") / at("memcpy of 1e7"), "times", 1.3)
  figure("R: as_array() of 1e7 doubles against memcpy", at("as_array() of 1e7") / at("memcpy of 1e7"), "times", 1.3)
  figure(
    "R: as_array() of a matrix 3000 x 3000 against a vector",
    at("as_array() of 3000 x 3000") / at("as_array() of 9e6"), "times", 1.5
  )
}

# A matrix of bigmemory, whose shared memory is mapped for the call, against the same matrix of R.
parts$bigmatrix <- function() {
  matrix <- matrix(stats::runif(1e7), 1e4)
  shared <- bigmemory::as.big.matrix(matrix)
  upload <- function(x) {
    function(n) {
      start <- .Call(floor_now)
      copy <- pjrt_buffer(x, "f64")
      await(copy)
      took <- .Call(floor_now) - start
      release(copy)
      took
    }
  }
  times <- rounds(list("a matrix" = upload(matrix), "the same again" = upload(matrix), "a big.matrix" = upload(shared)), 25L, 1L, 1L)
  show_rounds("R: 1e4 x 1e3 doubles to the device", times)
  figure("R control: upload of a matrix against itself", times[, "the same again"] / times[, "a matrix"], "times")
  figure("R: big.matrix of 1e7 doubles against the same R matrix", times[, "a big.matrix"] / times[, "a matrix"], "times", 1.1)
}

# By how much the memory of the process grows at most while a data set of hdf5r is brought to the device, what the device has
# included. The file is written piece by piece, so that R has no memory left over from that.
parts$hdf5 <- function() {
  file <- hdf5r::H5File$new(tempfile(fileext = ".h5"), "w")
  double <- hdf5r::h5types$H5T_NATIVE_DOUBLE
  data_set <- function(name, dims, chunk_dims) {
    space <- hdf5r::H5S$new("simple", dims = dims, maxdims = dims)
    data <- file$create_dataset(name, dtype = double, space = space, chunk_dims = chunk_dims)
    for (first in seq(1, dims[[1L]], by = 1e5)) {
      rows <- first:min(first + 1e5 - 1, dims[[1L]])
      if (length(dims) == 1L) data[rows] <- stats::runif(length(rows))
      if (length(dims) == 2L) data[rows, ] <- stats::runif(length(rows) * dims[[2L]])
      gc(FALSE)
    }
    data
  }
  # What the first data set loads and keeps is not that of the others.
  release(await(pjrt_buffer(data_set("small", 2e5, NULL))))
  for (case in list(
    list("a vector", 1e7, NULL), list("a vector in blocks", 1e7, "auto"), list("a matrix in blocks", c(1e6, 10), "auto")
  )) {
    data <- data_set(case[[1L]], case[[2L]], case[[3L]])
    gc()
    # From here on the peak counts again.
    writeLines("5", "/proc/self/clear_refs")
    before <- memory("VmRSS")
    buffer <- await(pjrt_buffer(data))
    grown <- (memory("VmHWM") - before) / (8 * prod(case[[2L]]))
    release(buffer)
    figure(sprintf("R: peak memory of 1e7 doubles of hdf5r, %s, against their size", case[[1L]]), grown, "times", 1.2)
  }
  file$close_all()
}

# A figure of the process's memory in bytes.
memory <- function(what) {
  line <- grep(paste0("^", what, ":"), readLines("/proc/self/status"), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", line))
}

# A logistic regression of 1e5 rows and 10 columns in double precision, against R's own. The design and the responses are
# plain R data, which are uploaded in each call; with buffers they are uploaded before.
parts$famglm <- function() {
  n <- 1e5
  p <- 10L
  design <- cbind(1, matrix(stats::rnorm(n * (p - 1L)), n))
  successes <- stats::rbinom(n, 1L, stats::plogis(design %*% seq(-0.5, 0.5, length.out = p)))
  buffers <- list(await(pjrt_buffer(design, "f64")), await(pjrt_buffer(as.double(successes), "f64")))
  # What a summary needs is read.
  ours <- function(x, y) {
    fit <- famglm::logistic_fit(x, y, weights = 1, offset = 0)
    list(as.vector(fit$coefficients), as.vector(fit$standard_errors), as.vector(fit$deviance))
  }
  theirs <- function() stats::glm.fit(design, successes, family = stats::binomial())
  difference <- max(abs(ours(design, successes)[[1L]] / theirs()$coefficients - 1))
  if (difference > 1e-8) stop("the fits differ by ", difference)
  # One run at a time, in memory that was tidied up.
  once <- function(run) {
    function(n) {
      gc(FALSE)
      start <- .Call(floor_now)
      run()
      .Call(floor_now) - start
    }
  }
  data <- data.frame(y = successes, design[, -1L])
  times <- rounds(list(
    "logistic_fit() of matrices" = once(function() ours(design, successes)),
    "logistic_fit() of buffers" = once(function() ours(buffers[[1L]], buffers[[2L]])),
    "glm.fit()" = once(theirs),
    "fam_glm() of a data frame" = once(function() famglm::fam_glm(y ~ ., "binomial", data)),
    "glm() of a data frame" = once(function() stats::glm(y ~ ., stats::binomial(), data))
  ), 15L, 1L, 1L)
  show_rounds("R: a logistic regression of 1e5 x 10", times)
  at <- function(name) times[, name]
  figure("R: glm.fit() of 1e5 x 10", at("glm.fit()") / 1e3, "ms")
  figure(
    "R: famglm's logistic_fit() of 1e5 x 10 against glm.fit()", at("logistic_fit() of matrices") / at("glm.fit()"),
    "times", 0.5
  )
  figure("R: the same where the arrays are buffers", at("logistic_fit() of buffers") / at("glm.fit()"), "times")
  figure(
    "R: famglm's fam_glm() against glm(), from a data frame",
    at("fam_glm() of a data frame") / at("glm() of a data frame"), "times"
  )
}

parts[[part]]()
