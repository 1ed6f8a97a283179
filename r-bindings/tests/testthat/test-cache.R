cosine <- 'pjrt_program("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = stablehlo.cosine %x : tensor<3xf32>\\n return %0 : tensor<3xf32> }")'
# A directory that goes when the test ends.
programs <- function(frame = parent.frame()) {
  dir <- tempfile("programs")
  do.call(on.exit, list(bquote(unlink(.(dir), recursive = TRUE)), add = TRUE), envir = frame)
  dir
}
# Runs code in a new process with this cache, which `cat()`s words; what it says.
session <- function(dir, code, env = character()) {
  out <- run_r(c(sprintf("options(pjrtdispatch.cache = %s)", deparse(dir)), code), env)
  expect_identical(out$status, 0L, info = out$err)
  strsplit(paste(out$out, collapse = " "), " ", fixed = TRUE)[[1]]
}
counts <- 'cat("", unlist(pjrt_cache()[c("hits", "misses", "writes", "entries")]))'

test_that("a second session loads what the first has compiled, with the same bits", {
  dir <- programs()
  code <- c(
    sprintf("p <- %s; x <- pjrt_buffer(c(0.1, 0.2, 0.3))", cosine),
    "y <- list(run(pjrt_skeleton(p), x), pjrt_execute(pjrt_compile(p), x))",
    "d <- dispatcher(4, function(info) list(exec = pjrt_compile(p), client = pjrt_client(), device = pjrt_device('cpu:0'),",
    "  out_tree = build_tree(0), out_avals = list(list(dtype = 'f32', shape = 3L))), default_device = function() pjrt_device('cpu:0'))",
    "y[[3]] <- dispatch(d, list(structure(list(data = x, backend = 'pjrt'), class = 'AnvlArray')))$data",
    "cat(vapply(y, function(y) paste(as_raw(y, row_major = TRUE), collapse = ''), ''), dispatcher_stats(d)$loads)", counts
  )
  first <- session(dir, code)
  expect_identical(first[4:8], c("1", "2", "1", "1", "1"))
  expect_identical(first[c(2, 3)], first[c(1, 1)])
  second <- session(dir, code)
  expect_identical(second[4:8], c("1", "3", "0", "0", "1"))
  expect_identical(second[1:3], first[1:3])
  # Another flag of XLA, another program.
  expect_identical(session(dir, code, "XLA_FLAGS=--xla_cpu_enable_fast_math=false")[5:8], c("2", "1", "1", "2"))
})

test_that("the functions of other packages are warm in a second session", {
  skip_if_not_installed("families")
  skip_if_not_installed("famglm")
  dir <- programs()
  code <- c(
    "x <- as.matrix(longley[names(longley) != 'Employed'])",
    "fit <- famglm::ridge_fit(x, longley$Employed, lambda = c(0, 0.1))",
    "y <- families::axpy(c(1, 2), c(3, 4), 2)",
    "stats <- family_stats(famglm::ridge_fit)",
    "cat(stats$compiles, stats$loads, paste(as_raw(fit$coefficients$data, row_major = TRUE), collapse = ''))", counts
  )
  first <- session(dir, code)
  expect_identical(first[c(1, 2, 4:7)], c("1", "0", "0", "2", "2", "2"))
  second <- session(dir, code)
  expect_identical(second[c(1, 2, 4:7)], c("1", "1", "2", "0", "0", "2"))
  expect_identical(second[3], first[3])
  # Also where variables of the plugin came with R, not with the process.
  set <- c("Sys.setenv(PJRT_CPU_DEVICE_COUNT = '2')", code)
  session(dir, set)
  expect_identical(session(dir, set)[4:6], c("2", "0", "0"))
})

test_that("the option counts as it is when a program is compiled", {
  a <- programs()
  b <- programs()
  before <- condition_of(pjrt_cache())
  expect_identical(before$code, "option")
  expect_match(conditionMessage(before), "compiled programs are not kept: `options(pjrtdispatch.cache = dir)` has", fixed = TRUE)
  said <- session(a, c(
    sprintf("b <- %s; p <- %s; invisible(pjrt_compile(p))", deparse(b), cosine),
    "one <- pjrt_cache()",
    "options(pjrtdispatch.cache = b); invisible(pjrt_compile(p)); two <- pjrt_cache()",
    "options(pjrtdispatch.cache = NULL); invisible(pjrt_compile(p))",
    "options(pjrtdispatch.cache = b); three <- pjrt_cache()",
    "options(pjrtdispatch.cache = one$path); invisible(pjrt_compile(p)); four <- pjrt_cache()",
    "cat(one$misses, two$misses, three$misses, three$hits, four$hits, basename(one$path) == basename(four$path))"
  ))
  expect_identical(said, c("1", "1", "1", "0", "1", "TRUE"))
})

test_that("what is there is shown, bounded and removed", {
  dir <- programs()
  said <- session(dir, c(
    "compile <- function(n) invisible(pjrt_compile(pjrt_program(sprintf(",
    "  'func.func @main(%%x: tensor<%dxf32>) -> tensor<%dxf32> { return %%x : tensor<%dxf32> }', n, n, n))))",
    "for (n in 1:3) compile(n)",
    "cache <- pjrt_cache(); each <- cache$bytes / 3",
    "writeLines(gsub(' ', '_', sub(cache$path, 'PATH', format(cache), fixed = TRUE)))",
    "options(pjrtdispatch.cache_bytes = 2.5 * each); compile(4)",
    "bounded <- pjrt_cache(); cat(bounded$entries, bounded$evicted, pjrt_cache_clear(), pjrt_cache()$entries, inherits(cache, 'PJRTCache'))"
  ))
  expect_match(said[1], "^<PJRTCache_PATH>$")
  expect_match(said[2], "^__3_programs,_[0-9]+_bytes_of_at_most_1_GiB_\\(1073741824_bytes\\)$")
  expect_identical(said[3], "__this_session:_0_hits,_3_misses,_3_writes")
  expect_identical(said[4:8], c("2", "2", "2", "0", "TRUE"))
})

test_that("a file that was changed is refused, and written anew", {
  dir <- programs()
  code <- c(sprintf("invisible(pjrt_compile(%s))", cosine), 'cat("", unlist(pjrt_cache()[c("hits", "misses", "writes", "refused")]))')
  session(dir, code)
  file <- list.files(dir, full.names = TRUE, pattern = "compiled$")
  expect_length(file, 1L)
  bytes <- readBin(file, "raw", file.size(file))
  at <- length(bytes) %/% 2L
  writeBin(replace(bytes, at, xor(bytes[at], as.raw(1))), file)
  expect_identical(session(dir, code)[2:5], c("0", "1", "1", "1"))
  expect_identical(session(dir, code)[2:5], c("1", "0", "0", "0"))
})

test_that("a directory that cannot be used is one warning, and an option that is none an error", {
  compile <- function() pjrt_compile(eval(parse(text = cosine)))
  file <- tempfile()
  writeLines("x", file)
  on.exit({
    options(pjrtdispatch.cache = NULL, pjrtdispatch.cache_bytes = NULL)
    unlink(c(file, shared), recursive = TRUE)
  })
  shared <- tempfile("shared")
  dir.create(shared)
  Sys.chmod(shared, "777", use_umask = FALSE)
  for (dir in c(file, shared)) {
    options(pjrtdispatch.cache = dir)
    expect_warning(compile(), "cannot keep compiled programs here: .*; programs are compiled as without a cache")
    expect_no_warning(expect_s3_class(compile(), "PJRTLoadedExecutable"))
    expect_fault(pjrt_cache(), "file", "cannot keep compiled programs here")
    expect_fault(pjrt_cache_clear(), "file", "cannot keep compiled programs here")
  }
  # Once it can be used it is.
  Sys.chmod(shared, "700", use_umask = FALSE)
  expect_no_warning(compile())
  expect_s3_class(pjrt_cache(), "PJRTCache")
  for (wrong in list(1, NA_character_, c("a", "b"), "", TRUE)) {
    options(pjrtdispatch.cache = wrong)
    expect_fault(compile(), "option", "option `pjrtdispatch.cache`: expected the path of a directory, or NULL, got ")
  }
  options(pjrtdispatch.cache = shared, pjrtdispatch.cache_bytes = -1)
  expect_fault(compile(), "option", "option `pjrtdispatch.cache_bytes`: expected a number of bytes, or NULL, got a double value")
})

test_that("loads are told apart from compiles", {
  dir <- programs()
  said <- session(dir, c(
    sprintf("p <- %s; options(pjrtdispatch.verbose = TRUE)", cosine),
    "words <- function(expr) { m <- NULL; withCallingHandlers(expr, message = function(c) { m <<- conditionMessage(c); invokeRestart('muffleMessage') }); strsplit(m, ' ')[[1]][2] }",
    "cat(words(pjrt_compile(p)), words(pjrt_compile(p)), words(pjrt_skeleton(p)))"
  ))
  expect_identical(said, c("compiled", "loaded", "loaded"))
})
