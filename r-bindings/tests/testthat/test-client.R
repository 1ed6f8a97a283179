test_that("there is one client for each platform", {
  client <- pjrt_client()
  expect_identical(pjrt_client("cpu"), client)
  expect_identical(pjrt_client("CPU"), client)
  expect_identical(as_pjrt_client("cpu"), client)
  expect_identical(as_pjrt_client(client), client)
  expect_identical(as_pjrt_client(pjrt_device("cpu:1")), client)
  expect_identical(platform(client), "cpu")
  expect_identical(as.character(client), "cpu")
  expect_match(format(client), "^<PJRTClient cpu of .* \\(PJRT C API 0\\.[0-9]+\\)>$")
})

test_that("options come too late for a client that is there", {
  pjrt_client("cpu")
  expect_fault(pjrt_client("cpu", cpu_device_count = 3L), "option", "there is a client of platform cpu already")
  expect_fault(pjrt_client("cpu", threads = "a"), "option", "expected a whole number from 1 on, got a string", "threads")
  expect_fault(pjrt_client("cpu", threads = 1.5), "option", "got 1.5", "threads")
  expect_fault(pjrt_client("cpu", threads = 3), "option", "the client is there already", "threads")
  expect_fault(plugin_client_create(pjrt_plugin("cpu"), "cpu"), "option", "already")
})

test_that("options can be given again with the values that the client has", {
  # From the variable.
  expect_identical(pjrt_client("cpu", cpu_device_count = 2L), pjrt_client("cpu"))
  code <- c(
    "make <- function(...) pjrt_client('cpu', ...)",
    "a <- make(cpu_device_count = 3, threads = 5)",
    "cat(identical(make(cpu_device_count = 3L, threads = 5L), a), identical(make(threads = 5), a), '')",
    "said <- function(...) tryCatch(make(...), error = function(e) cat(e$argument, ''))",
    "said(threads = 6); said(cpu_device_count = 2, threads = 5); said(cpu_device_count = 3, more = 1)"
  )
  expect_identical(run_r(code)$out, "TRUE TRUE threads platform platform ")
})

test_that("the error of an option shows its value as R writes it", {
  code <- "for (n in list('2', 0L, c(1, 2), TRUE)) cat(sub('.*got ', '', tryCatch(pjrt_client('cpu', cpu_device_count = n), error = conditionMessage)), '; ')"
  expect_identical(run_r(code)$out, "\"2\" ; 0 ; [1, 2] ; true ; ")
})

test_that("options and variables count where the client is made", {
  count <- "cat(length(devices('cpu')))"
  expect_identical(run_r(count, "PJRT_CPU_DEVICE_COUNT=3")$out, "3")
  expect_identical(run_r(c("invisible(pjrt_client('cpu', cpu_device_count = 4))", count))$out, "4")
  expect_identical(
    run_r(c("invisible(pjrt_client(cpu_device_count = 4L, threads = 1))", count), "PJRT_CPU_DEVICE_COUNT=3")$out, "4"
  )
  plugin <- "invisible(plugin_client_create(pjrt_plugin('cpu'), 'cpu', list(cpu_device_count = 5L)))"
  expect_identical(run_r(c(plugin, count))$out, "5")
  wrong <- "cat(tryCatch(pjrt_client(), error = conditionMessage))"
  expect_match(run_r(wrong, "PJRT_CPU_DEVICE_COUNT=many")$out, "PJRT_CPU_DEVICE_COUNT is \"many\"")
  expect_match(run_r(wrong, "PJRT_PLATFORM=moon")$out, "got \"moon\"")
  expect_match(run_r(wrong, "PJRT_PLUGIN_PATH_CPU=missing.so")$out, "PJRT_PLUGIN_PATH_CPU names it")
})

test_that("the number of threads can be given", {
  skip_if_not(dir.exists("/proc/self/task"))
  # Of the plugin's pool for the work of one operation; each of them sets its name.
  count <- "Sys.sleep(0.3); names <- vapply(Sys.glob('/proc/self/task/*/comm'), readLines, ''); cat(sum(names == 'tf_XLAEigen'))"
  make <- function(...) c(sprintf("invisible(pjrt_client(%s))", paste(c(...), collapse = ", ")), count)
  expect_identical(run_r(make(), "PJRT_NPROC=7")$out, "7")
  expect_identical(run_r(make("threads = 6"))$out, "6")
  expect_identical(run_r(make("'cpu'", "threads = 5L", "cpu_device_count = 1"), "PJRT_NPROC=7")$out, "5")
  # The variable is as it was.
  after <- c(make("threads = 6"), "cat('', Sys.getenv('PJRT_NPROC', NA))")
  expect_identical(run_r(after)$out, "6 NA")
  expect_identical(run_r(after, "PJRT_NPROC=8")$out, "6 8")
  # What the help says.
  expect_identical(run_r(make("threads = 1"))$out, "4")
})

test_that("variables name the platform and the plugin", {
  skip_on_os("windows")
  path <- rs_plugin_about(pjrt_plugin("cpu"))[2]
  link <- tempfile("plugin", fileext = ".so")
  file.symlink(path, link)
  on.exit(unlink(link))
  about <- "cat(platform(pjrt_client()), rs_plugin_about(pjrt_plugin('cpu'))[2], as_array(pjrt_buffer(3)))"
  about <- gsub("rs_plugin_about", "pjrtdispatch:::rs_plugin_about", about, fixed = TRUE)
  expect_identical(run_r(about, paste0("PJRT_PLUGIN_PATH_CPU=", link))$out, paste("cpu", link, "3"))
  expect_identical(run_r("cat(platform(pjrt_client()))", "PJRT_PLATFORM=CPU")$out, "cpu")
  # No plugin is there for this one, and the message says whose it is.
  said <- run_r("cat(tryCatch(pjrt_buffer(1), error = conditionMessage))", "PJRT_PLATFORM=cuda")$out
  expect_match(said[1], "cuda")
})

test_that("a plugin is found and tells of itself", {
  plugin <- pjrt_plugin("cpu")
  expect_identical(class(plugin), "PJRTPlugin")
  expect_identical(as_pjrt_plugin(plugin), plugin)
  expect_match(format(as_pjrt_plugin("cpu")), "^<PJRTPlugin cpu, PJRT C API 0\\.[0-9]+: .*>$")
  expect_true("stablehlo_current_version" %in% names(plugin_attributes(plugin)))
  expect_true(plugins_downloaded())
  expect_true(plugins_downloaded("cpu"))
  expect_identical(run_r("cat(plugins_downloaded())", "PJRT_PLUGIN_PATH_CPU=missing.so")$out, "FALSE")
  expect_fault(pjrt_plugin(1), "type", "expected a string, got a double value", "platform")
})

test_that("where there is no plugin the error says how to get one", {
  out <- run_r(
    "cat(plugins_downloaded(), tryCatch(pjrt_client(), error = conditionMessage))",
    c(paste0("DISPATCH_CACHE_DIR=", tempfile()), "HOME=/nonexistent", "PATH=/nonexistent", "PJRT_PLUGIN_PATH_CPU=")
  )
  expect_match(out$out[[1]], "^FALSE no PJRT plugin found for platform cpu; looked at:$")
  expect_match(out$out[[length(out$out)]], "^get one with: install_pjrt\\(\\); outside of R: ")
})

test_that("install_pjrt() gives the path of what is there, and says why it cannot get what is not", {
  skip_on_cran()
  cached <- file.path(Sys.getenv("DISPATCH_CACHE_DIR", "~/.cache/dispatch-runtime"), "plugins/cpu/xla-cpu-pjrt-0.0.1.so")
  skip_if_not(file.exists(cached) && !nzchar(Sys.getenv("XDG_CACHE_HOME")))
  expect_identical(normalizePath(suppressMessages(install_pjrt())), normalizePath(cached))
  expect_fault(install_pjrt("11"), "value", "argument `cuda`: expected NULL, \"12\" or \"13\", got \"11\"", "cuda")
  expect_fault(install_pjrt(list(12)), "value", "got a list of length 1", "cuda")
  out <- run_r("cat(tryCatch(install_pjrt(), error = conditionMessage))", "PATH=/nonexistent")
  expect_match(out$out, "the cpu plugin was not installed: bash is not in PATH. A plugin that is there already is used if")
})

test_that("a platform that does not exist is told in R's words", {
  expected <- "platform: expected \"cpu\" or \"cuda\", got \"moon\""
  calls <- expression(
    platform = pjrt_client("moon"), platform = pjrt_plugin("moon"), platforms = plugins_downloaded(c("cpu", "moon")),
    x = devices("moon"), device = pjrt_device("moon:1")
  )
  for (i in seq_along(calls)) {
    condition <- expect_fault(eval(calls[[i]]), "option", expected, names(calls)[[i]])
    expect_identical(condition$call, calls[[i]])
  }
  expect_fault(plugins_downloaded(1), "type", "expected the names of platforms, got a double value", "platforms")
  expect_fault(plugin_client_create(pjrt_plugin("cpu"), "cuda"), "value", "expected \"cpu\", the platform of the plugin", "platform")
  expect_fault(as_pjrt_client(1), "type", "expected a PJRTClient, a PJRTDevice or the name of a platform", "x")
  fake <- structure(list(), class = c("PJRTClient", "PJRTPlugin", "PJRTBuffer"))
  expect_fault(as_pjrt_client(fake), "type", "got a PJRTClient", "x")
  expect_s3_class(condition_of(as_pjrt_plugin(fake)), "pjrtdispatch_error")
  expect_fault(pjrt_buffer(structure(list(), class = "PJRTBuffer")), "type", "expected a PJRTBuffer", "data")
})
