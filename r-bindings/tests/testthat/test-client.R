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
  expect_fault(pjrt_client("cpu", threads = 3), "option", "the client is there already", "threads")
  expect_fault(plugin_client_create(pjrt_plugin("cpu"), "cpu"), "option", "already")
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
