#!/usr/bin/env bash
# forge from contracts/node_modules, run in contracts/ (foundry.toml names the pinned compiler).
set -euo pipefail
cd "$(dirname "$0")/../contracts"
exec node_modules/@foundry-rs/forge-linux-amd64/bin/forge "$@"
