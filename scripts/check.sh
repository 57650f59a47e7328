#!/usr/bin/env bash
# The larger checks that `make test` leaves out: large counts, faults planted in the CUDA kernels, sanitizers on the modules
# without libtorch, the contracts' long fuzz and invariant runs, header self-containment, lint of what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
say() { printf '\ncheck: %d s: %s\n' "$SECONDS" "$*"; }

say "every public header compiles alone"
cmake --build --preset release --parallel "$jobs" --target all_verify_interface_header_sets

say "benchmarks compile"
cmake --build --preset release --parallel "$jobs" --target benchmarks

say "large counts (GYM_TEST_SCALE=10): differential, fuzz and simulated histories"
GYM_TEST_SCALE=10 ctest --test-dir build/release --parallel "$jobs" --output-on-failure --timeout 1200 -L 'fuzz|sim|scaled'

say "faults planted in the CUDA kernels: some of the list, others for each commit"
scripts/mutants.py build/release --jobs "$jobs" --count 16 --sources-max 3 \
    --seed $((16#$(git rev-parse --short=8 HEAD 2>/dev/null || echo 0)))

say "AddressSanitizer and UBSan"
JOBS=$jobs scripts/build_asan.sh
LSAN_OPTIONS=suppressions=$PWD/tests/support/lsan.supp ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build/asan --parallel "$jobs" --output-on-failure --timeout 900 -L 'unit|fuzz' -LE release_only

say "contracts: long fuzz and invariant runs"
FOUNDRY_PROFILE=check scripts/forge.sh test

say "lint of changed files"
scripts/lint.sh build/release --changed
say "all checks passed"
