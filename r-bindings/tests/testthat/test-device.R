test_that("there is one object for each device", {
  expect_identical(pjrt_device("cpu:1"), pjrt_device("cpu:1"))
  expect_identical(pjrt_device("cpu"), pjrt_device("cpu:0"))
  expect_identical(as_pjrt_device(NULL), pjrt_device("cpu"))
  expect_identical(as_pjrt_device(pjrt_device("cpu:1")), pjrt_device("cpu:1"))
  expect_identical(devices(), list(pjrt_device("cpu:0"), pjrt_device("cpu:1")))
  expect_identical(device(pjrt_device("cpu:1")), pjrt_device("cpu:1"))
})

test_that("devices are compared, named and printed", {
  one <- pjrt_device("cpu:0")
  two <- pjrt_device("cpu:1")
  expect_true(one == one)
  expect_false(one == two)
  expect_true(one != two)
  expect_identical(as.character(two), "cpu:1")
  expect_identical(format(two), "<PJRTDevice cpu:1>")
  expect_output(print(two), "<PJRTDevice cpu:1>", fixed = TRUE)
  expect_identical(platform(two), "cpu")
})

test_that("what is no device is refused", {
  expect_fault(pjrt_device("cpu:7"), "value", "expected one of the devices cpu:0, cpu:1, got \"cpu:7\"", "device")
  expect_fault(pjrt_device("cpu:x"), "value", "expected a device such as")
  expect_fault(pjrt_device(":1"), "value", "expected a device such as")
  expect_fault(pjrt_device(NA), "type", "got NA")
  expect_fault(pjrt_device(c("cpu", "cpu")), "type", "got a character vector of length 2")
  expect_fault(pjrt_device(pjrt_client()), "type", "got a PJRTClient")
  expect_fault(pjrt_device("nowhere"), "option", "\"nowhere\"")
})

test_that("a handle is checked: its kind, its class, whether it is alive", {
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(pjrt_device("cpu"), file)
  restored <- readRDS(file)
  expect_fault(format(restored), "dead", "expected a PJRTDevice that is alive, got one from another session")
  expect_fault(pjrt_device(restored), "dead", "saved and loaded", "device")

  list_of_class <- structure(list(), class = "PJRTDevice")
  expect_fault(format(list_of_class), "type", "expected a PJRTDevice, got a PJRTDevice")
  expect_fault(rs_device_name(pjrt_client()), "type", "expected a PJRTDevice, got a PJRTClient")
  foreign <- structure(methods::new("externalptr"), class = "PJRTDevice")
  expect_fault(format(foreign), "type", "one that this package did not make")
})

test_that("the call of an error is that of the user, also of an operator", {
  device <- pjrt_device("cpu")
  condition <- expect_fault(device == "cpu:0", "type", "expected a PJRTDevice, got a string", "e2")
  expect_identical(condition$call[[1]], as.name("=="))
  condition <- expect_fault(elt_type("f32") != "zz", "unknown_dtype", "argument `e2`: expected one of bool", "e2")
  expect_identical(condition$call[[1]], as.name("!="))
})
