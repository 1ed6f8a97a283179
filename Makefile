# The commands of the project. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# SHORT=1: the short forms that `make check` uses. STRICT=1: `make bench` fails over a limit.
SHORT ?=
STRICT ?=

# Which tests need a real plugin (a pattern of test targets, over the whole workspace) and where the benchmarks are.
PLUGIN_TESTS ?= pjrt*
BENCH_PACKAGE ?= dispatch-bench

# A shell that did not read cargo's profile still finds it.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Where the pinned compiler is installed only as `stable`, use it under that name.
ifeq ($(RUSTUP_TOOLCHAIN),)
toolchain := $(shell scripts/toolchain)
ifneq ($(toolchain),)
export RUSTUP_TOOLCHAIN := $(toolchain)
endif
endif

# On CI the committed lock file has to be the right one.
locked := $(if $(CI),--locked)
# Tests, lints and examples ask for the same features of the same packages, so that they share one build.
everything := --workspace --all-features $(locked)

# Tests that repeat something very often read this and repeat it less.
ifneq ($(SHORT),)
export DISPATCH_TEST_SHORT := 1
endif

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## install what is missing, get the plugin, build and run the main job from Rust and from R
	@scripts/setup
	@scripts/get-plugin default >/dev/null
	@echo "== quickstart: one family, compiled once, called again and again"
	@cargo run --release --quiet $(locked) -p quickstart
	@echo "== logistic_regression: Newton's method in f64 on a real table"
	@cargo run --release --quiet $(locked) -p logistic_regression
	@echo "== mlp: a network of two layers, trained in f32 on a real table"
	@cargo run --release --quiet $(locked) -p mlp
	@scripts/setup r
	@scripts/install-r target/r-lib
	@echo "== from R: a dispatcher, compiled once, called again"
	@R_LIBS=target/r-lib Rscript --vanilla examples/r/dispatch.R
	@echo "== from R: regressions of the package famglm, whose families are written in Rust"
	@R_LIBS=target/r-lib Rscript --vanilla examples/r/regression.R

.PHONY: test
test: ## the same set-up, then every test, on the default plugin
	@scripts/setup tests r
	@scripts/get-plugin default >/dev/null
	cargo test $(everything) $(if $(CI),--no-fail-fast)
	@scripts/run-examples $(everything)
	@scripts/test-r

.PHONY: install-r
install-r: ## install the R packages into R_LIB=dir
	@scripts/setup r
	@scripts/install-r '$(R_LIB)'

.PHONY: test-r
test-r: ## the tests of the R packages
	@scripts/setup r
	@scripts/get-plugin default >/dev/null
	@scripts/test-r

.PHONY: generate
generate: ## write the generated files: the wrappers of the R packages, and their help where roxygen2 is installed
	@scripts/setup tests
	@scripts/generate $(locked)

.PHONY: test-plugins
test-plugins: ## the tests that need a real plugin, once on each of the three
	@scripts/setup tests
	@scripts/test-plugins '$(PLUGIN_TESTS)' $(everything)

.PHONY: bench
bench: ## the benchmarks; a table, target/bench/results.json, criterion's report (STRICT=1: fail over a limit)
	@scripts/setup tests r
	@scripts/get-plugin default >/dev/null
	@scripts/install-r $${CARGO_TARGET_DIR:-target}/r-lib
	@scripts/install-test-packages $${CARGO_TARGET_DIR:-target}/r-lib families
	@rm -f target/bench/results.json
	DISPATCH_BENCH_JAX=$$(scripts/get-jax) DISPATCH_BENCH_PLUGIN=$$(scripts/get-plugin fastatomstruct-xla-cpu) \
	    DISPATCH_BENCH_R_LIB=$$(realpath $${CARGO_TARGET_DIR:-target}/r-lib) \
	    PJRT_PLUGIN_PATH_CPU=$$(scripts/get-plugin default) cargo bench $(locked) -p $(BENCH_PACKAGE)
	@scripts/bench-table $(if $(STRICT),--strict) target/bench/results.json

.PHONY: check-r
check-r: ## R CMD check of the source packages, which install offline
	@scripts/setup r
	@scripts/get-plugin default >/dev/null
	@scripts/check-r

.PHONY: check
check: ## check-r, short forms of test-plugins and sanitize
	@$(MAKE) check-r
	@$(MAKE) test-plugins SHORT=1
	@$(MAKE) sanitize SHORT=1

.PHONY: sanitize
sanitize: ## loom, AddressSanitizer, valgrind and callgrind on the runtime and the R package, where installed
	@scripts/setup r
	@SHORT=$(SHORT) scripts/sanitize $(locked)

.PHONY: lint
lint: ## formatting, clippy, docs, scripts, file contents, generated files, minimum Rust version
	@scripts/setup tests
	cargo fmt --all --check
	cargo clippy $(everything) --all-targets -- -D warnings
	cargo check $(locked) -p dispatch-runtime --no-default-features
	RUSTDOCFLAGS='-D warnings' cargo doc $(everything) --no-deps --quiet
	@scripts/generate --check $(locked)
	@scripts/check-msrv
	@scripts/check-files
