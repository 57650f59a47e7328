#!/usr/bin/env bash
# Builds the unit tests with AddressSanitizer and UBSan in build/asan: the modules without libtorch.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
cmake --preset asan >build/configure-asan.log || { cat build/configure-asan.log; exit 1; }
cmake --build --preset asan --parallel "${JOBS:-$(nproc)}" --target gym_unit_tests
