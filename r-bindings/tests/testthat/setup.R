# Before any client is made: the tests of devices need two.
Sys.setenv(PJRT_CPU_DEVICE_COUNT = "2")
