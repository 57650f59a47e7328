#!/usr/bin/env bash
# determinism.sh: 200 training steps (forward, backward, optimizer) of four small models that together have every macro
# op, in builds by {gcc, clang} x {-O1, -O3}, each on every instruction set that this CPU has and on 1 and 2 threads, and
# on a CUDA device if there is one. Prints every run's root over all models; succeeds if all are equal. clang cannot
# compile libtorch's headers, so these are engine-only builds without torch.
set -euo pipefail
cd "$(dirname "$0")/.."
export GYM_SOURCE_DIR=$PWD GYM_TEST_SCALE=10
runs=build/determinism/runs.txt
mkdir -p build/determinism && : >"$runs"

build() {  # build FOLDER [CMAKE OPTION...]: test_engine_golden
    local folder=$1
    shift
    echo "determinism: building $folder"
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGYM_ENGINE_ONLY=ON -DGYM_WITH_TORCH=OFF \
        -DGYM_BUILD_BENCHMARKS=OFF "$@" >"$folder.log" 2>&1 || { tail -20 "$folder.log"; exit 1; }
    cmake --build "$folder" --parallel "${JOBS:-$(nproc)}" --target test_engine_golden >>"$folder.log" 2>&1 ||
        { tail -40 "$folder.log"; exit 1; }
}

run() {  # run NAME FOLDER FILTER: leaves the lines "NAME root|skipped ..." in FOLDER.runs; fails with the test
    "$2/bin/test_engine_golden" --gtest_filter="$3" >"$2.txt" || { tail -40 "$2.txt"; return 1; }
    sed -nE "s/^(root|skipped) /$1 &/p" "$2.txt" | tee "$2.runs"
}

names=() folders=()
for compiler in g++ clang++; do
    # At -O3 GCC 12 sees an overlap inside std::string that is not there (GCC bug 105651).
    warnings=; [[ $compiler == g++ ]] && warnings=-Wno-restrict
    for level in -O1 -O3; do
        folder=build/determinism/$compiler$level
        build "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$warnings" -DGYM_WITH_CUDA=OFF \
            -DCMAKE_CXX_FLAGS_RELEASE="$level" -DGYM_VECTOR_OPTIMISATION="$level"
        names+=("$compiler $level") folders+=("$folder")
    done
done
# At once: scalar code on one thread is most of the time.
jobs=()
for i in "${!names[@]}"; do
    run "${names[i]}" "${folders[i]}" '-*cuda' &
    jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
cat "${folders[@]/%/.runs}" >"$runs"
if nvidia-smi -L >build/determinism/devices.txt 2>&1; then
    build build/determinism/cuda -DGYM_WITH_CUDA=ON
    run nvcc build/determinism/cuda '*cuda'
    cat build/determinism/cuda.runs >>"$runs"
else
    echo "nvcc skipped cuda: no CUDA device" | tee -a "$runs"
fi

roots=$(sed -nE 's/.*root ([^ ]+) .*/\1/p' "$runs" | sort | uniq -c)
skipped=$(sed -nE 's/.*skipped ([^:]+):.*/\1/p' "$runs" | sort -u | tr '\n' ' ')
if (($(wc -l <<<"$roots") != 1)) || [[ -z $roots ]]; then
    printf 'determinism: different roots (%s):\n%s\n' "$runs" "$roots" >&2
    exit 1
fi
read -r count root <<<"$roots"
echo "determinism: one root in $count runs: $root${skipped:+; skipped: $skipped}"
