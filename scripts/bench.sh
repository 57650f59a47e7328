#!/usr/bin/env bash
# bench.sh BUILD_DIR: runs every benchmark program; each writes its rows to build/bench/AREA.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: bench.sh BUILD_DIR}
mkdir -p build/bench
echo "bench: engine -> build/bench/engine.json"
"$build/bin/bench_q14_gemm" --output build/bench/engine.json
echo "bench: ledger -> build/bench/ledger.json"
"$build/bin/bench_ledger" build/bench/ledger.json
