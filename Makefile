# Two commands do everything on a fresh Debian 12: `make demo` and `make test`. `make help` lists the rest.
BUILD ?= build/release
JOBS ?= $(shell nproc)
# Tests start servers of their own and wait a lot: three at a time use two cores well.
TEST_JOBS ?= 3
.DEFAULT_GOAL := help
.PHONY: help setup build tests demo test python check soak determinism bench parity parity-network fmt lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s  %s\n", $$1, $$2}' Makefile

setup: ## install what the build needs (Debian and npm packages)
	@scripts/setup.sh

build: setup ## configure and build the programs
	@JOBS=$(JOBS) scripts/build.sh programs

tests: setup
	@JOBS=$(JOBS) scripts/build.sh tests

demo: ## train on real text, catch a cheat, pay everyone else on chain
	@scripts/setup.sh demo
	@JOBS=$(JOBS) scripts/build.sh demo
	@scripts/demo.sh $(BUILD)

test: tests ## run every unit and integration test (real PostgreSQL, anvil, sockets)
	@ctest --test-dir $(BUILD) --output-on-failure --timeout 300 --parallel $(TEST_JOBS) || \
	  { scripts/failures.sh $(BUILD); exit 1; }

python: build ## make the Python package: a wheel and a .deb -> build/python
	@scripts/python_package.sh $(BUILD)

check: tests ## run the larger checks: ten times the counts, fuzzing, sanitizers, contracts, lint
	@scripts/check.sh

soak: tests ## run for hours: golden matrices, kill tests, long histories
	@scripts/soak.sh $(BUILD)

determinism: setup ## compare one training root over compilers, optimisation, instruction sets, threads
	@scripts/determinism.sh

bench: setup ## run the benchmarks with their peers -> build/bench/*.json
	@JOBS=$(JOBS) scripts/build.sh benchmarks
	@scripts/bench.sh $(BUILD)

parity: setup ## compare losses with libtorch FP32, step by step -> build/bench/parity.json, docs/*.svg
	@JOBS=$(JOBS) scripts/build.sh benchmarks
	@scripts/parity.sh $(BUILD)

parity-network: setup ## compare losses of networks with and without compressed deltas -> build/parity-network/*.json
	@JOBS=$(JOBS) scripts/build.sh benchmarks
	@scripts/parity_network.sh $(BUILD)

fmt: ## format C++ sources in place
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

lint: build ## run clang-format, clang-tidy, the layering check, forge lint and solhint
	@scripts/lint.sh $(BUILD)

clean: ## remove build output
	@rm -rf build
