#!/usr/bin/env bash
# build.sh demo|programs|tests|benchmarks|gpu: configures build/release and compiles what the named use needs.
#   demo        the programs that the demo runs; needs neither GoogleTest nor libtorch
#   programs    everything that is installed, and the Python package
#   tests       all programs, libraries and tests
#   benchmarks  the same, and the benchmarks
#   gpu         what scripts/first-gpu-hour.sh runs
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
options=(-DGYM_BUILD_TESTS=ON -DGYM_WITH_TORCH=ON)
case ${1:-} in
demo)
    targets=(demo)
    # A folder that was configured with tests keeps them: what the demo needs is in there.
    options=()
    [[ -e build/release/build.ninja ]] || options=(-DGYM_BUILD_TESTS=OFF -DGYM_WITH_TORCH=OFF) ;;
programs) targets=(programs) ;;
tests) targets=(all) ;;
benchmarks) targets=(all benchmarks) ;;
gpu)
    targets=(test_cuda_device test_engine_golden bench_cuda)
    options=(-DGYM_BUILD_TESTS=ON)
    [[ -e build/release/build.ninja ]] || options+=(-DGYM_WITH_TORCH=OFF) ;;
*) sed -n '2,7s/^# //p' "$0" >&2; exit 2 ;;
esac

mkdir -p build
echo "build: configuring (build/configure.log)"
cmake --preset release "${options[@]}" >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
# A machine with a GPU and without a suitable nvcc is told here, not when its node registers.
sed -n 's/^-- CUDA kernels: /build: CUDA kernels: /p; s/^-- cuBLAS/build: cuBLAS/p' build/configure.log
if [[ $1 == gpu ]]; then
    ! grep -q '^-- CUDA kernels: off' build/configure.log || { echo "build: without CUDA kernels there is nothing to build for a GPU" >&2; exit 1; }
    ! grep -q '^-- cuBLAS not found' build/configure.log || targets=(test_cuda_device test_engine_golden)
fi
echo "build: compiling ${targets[*]} with $jobs jobs"
cmake --build --preset release --parallel "$jobs" --target "${targets[@]}"
