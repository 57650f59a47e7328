#!/usr/bin/env bash
# determinism.sh: training steps of gpt-nano and a small Llama (forward, backward, optimizer) in builds by {gcc, clang} x {-O1, -O3},
# each on every instruction set that this CPU has and on 1 and 2 threads. Prints every run's root; succeeds if there is
# one root a model. clang takes no libtorch headers, so these are engine-only builds without torch.
set -euo pipefail
cd "$(dirname "$0")/.."
export GYM_SOURCE_DIR=$PWD
runs=build/determinism/runs.txt
mkdir -p build/determinism && : >"$runs"

for compiler in g++ clang++; do
    # At -O3 GCC 12 sees an overlap inside std::string that is not there (GCC bug 105651).
    warnings=; [[ $compiler == g++ ]] && warnings=-Wno-restrict
    for level in -O1 -O3; do
        build=build/determinism/$compiler$level
        echo "determinism: building with $compiler $level"
        cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_CXX_FLAGS="$warnings" \
            -DCMAKE_CXX_FLAGS_RELEASE="$level" -DGYM_VECTOR_OPTIMISATION="$level" -DGYM_ENGINE_ONLY=ON \
            -DGYM_WITH_TORCH=OFF -DGYM_BUILD_BENCHMARKS=OFF >"$build.log" 2>&1 || { tail -20 "$build.log"; exit 1; }
        cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target test_engine_golden >>"$build.log" 2>&1 ||
            { tail -40 "$build.log"; exit 1; }
        "$build/bin/test_engine_golden" | sed -n "s/^root /$compiler $level /p" | tee -a "$runs"
    done
done
cuda=build/cuda/bin/test_cuda_device
[[ -x $cuda ]] && echo "determinism: a CUDA build exists; its roots are compared by $cuda"

models=$(awk '{print $NF}' "$runs" | sort -u | wc -l)
roots=$(awk '{print $NF, $3, $5}' "$runs" | sort -u)
if (($(wc -l <<<"$roots") != models || models == 0)); then
    echo "determinism: different roots of one model in $(wc -l <"$runs") runs ($runs):" >&2
    echo "$roots" >&2
    exit 1
fi
echo "determinism: one root a model in $(wc -l <"$runs") runs:" $(awk '{print $1, $2}' <<<"$roots")
