#!/usr/bin/env bash
# soak_wan.sh BUILD_DIR: trains a small public job with 16 workers, six mirrors and a verifier over an emulated wide-area
# network of three regions (network namespaces, tests/wan), and once on the loopback; the models must be equal bit for bit,
# and workers must fetch 80 % from mirrors of their own region. Then with 1 % loss, and with a region that is cut off for
# 30 s, and with nodes that share blobs by BitTorrent. WAN_RUNS chooses some of "lan wan lossy cut torrents". Where namespaces
# are not permitted it says so and passes. Needs root. Writes build/soak/wan.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
exec python3 tests/wan/run.py "$build" build/soak
