#!/usr/bin/env bash
# Compares gas and ABI of the contracts with snapshots/; `--update` writes them anew. What changes here changes for
# everybody who calls the contracts, so a difference is a decision, not an accident.
set -euo pipefail
cd "$(dirname "$0")/.."
forge=node_modules/@foundry-rs/forge-linux-amd64/bin/forge
contracts=(GymToken AdminTimelock JobEscrow CommitmentLog DrandBeacon RewardsDistributor Stake OneStep DisputeGame)

case "${1-}" in
--update)
    "$forge" test --match-contract GasTest --gas-snapshot-check false --gas-snapshot-emit true
    for name in "${contracts[@]}"; do "$forge" inspect "$name" abi --json >"snapshots/$name.abi.json"; done
    ;;
"")
    "$forge" test --match-contract GasTest
    for name in "${contracts[@]}"; do
        "$forge" inspect "$name" abi --json | diff -u "snapshots/$name.abi.json" - ||
            { echo "the ABI of $name changed: contracts/script/snapshots.sh --update" >&2; exit 1; }
    done
    echo "gas and ABI equal their snapshots"
    ;;
*)
    echo "usage: $0 [--update]" >&2
    exit 2
    ;;
esac
