#!/usr/bin/env bash
# bench.sh BUILD_DIR: runs every benchmark program; each writes its rows to build/bench/AREA.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: bench.sh BUILD_DIR}
mkdir -p build/bench
found=0
for program in "$build"/bin/bench_*; do
    [[ -x $program ]] || continue
    area=$(basename "$program"); area=${area#bench_}
    echo "bench: $area -> build/bench/$area.json"
    "$program" "build/bench/$area.json"
    found=1
done
((found)) || { echo "bench: no benchmark programs in $build/bin (GYM_BUILD_BENCHMARKS=OFF?)" >&2; exit 1; }
