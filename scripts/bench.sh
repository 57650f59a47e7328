#!/usr/bin/env bash
# bench.sh BUILD_DIR: runs every benchmark program; each writes its rows to build/bench/AREA.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: bench.sh BUILD_DIR}
mkdir -p build/bench
echo "bench: engine -> build/bench/engine.json"
rm -f build/bench/engine.json
for program in bench_q14_gemm bench_train_step bench_hash; do
    if [ -x "$build/bin/$program" ]; then
        "$build/bin/$program" --output build/bench/engine.json
    else
        echo "bench: $program was not built: it needs libtorch and oneDNN"
    fi
done
# The same training step with the BLAS kernels that libtorch chooses by itself.
if [ -x "$build/bin/bench_train_step" ]; then
    "$build/bin/bench_train_step" --output build/bench/engine.json --only gpt-d384 --blas installed
fi
echo "bench: CUDA -> build/bench/cuda.json"
rm -f build/bench/cuda.json
if [ -x "$build/bin/bench_cuda" ]; then
    "$build/bin/bench_cuda" --output build/bench/cuda.json
else
    echo "bench: bench_cuda was not built: it needs nvcc and cuBLAS"
fi
echo "bench: tokenizer, data pipeline and encrypted blobs -> build/bench/data.json"
rm -f build/bench/data.json
"$build/bin/bench_tokenizer" --output build/bench/data.json
"$build/bin/bench_data" --output build/bench/data.json
"$build/bin/bench_vault" --output build/bench/data.json
echo "bench: compressed deltas, aggregates, blobs by HTTP -> build/bench/network.json"
rm -f build/bench/network.json
"$build/bin/bench_codec" --output build/bench/network.json
"$build/bin/bench_aggregate" --output build/bench/network.json
"$build/bin/bench_mirror" --output build/bench/network.json
echo "bench: ledger -> build/bench/ledger.json"
"$build/bin/bench_ledger" build/bench/ledger.json
echo "bench: settlement -> build/bench/settlement.json"
rm -f build/bench/settlement.json
"$build/bin/bench_settlement" --output build/bench/settlement.json
echo "bench: disputes -> build/bench/dispute.json"
rm -f build/bench/dispute.json
"$build/bin/bench_dispute" --output build/bench/dispute.json
echo "bench: coordinator -> build/bench/coordinator.json"
rm -f build/bench/coordinator.json
"$build/bin/bench_coordinator" --output build/bench/coordinator.json
echo "bench: a network of 24 virtual hours -> build/bench/network_simulation.json"
rm -f build/bench/network_simulation.json
"$build/bin/bench_network_simulation" --output build/bench/network_simulation.json
