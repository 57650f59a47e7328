#!/usr/bin/env bash
# parity_overlap.sh BUILD_DIR: what rounds that overlap cost in loss (docs/TESTING.md, "Rounds that overlap"). Plays the small
# network of parity_network.sh three times with as many tokens: as it is, with units of twice the length, and with an overlap
# and the outer rates that a plan gives it. Files in build/parity-overlap: NAME.json has a run's validation losses, NAME.state
# continues an interrupted run, curves.csv and curves.svg show all runs by the steps of each slot. A run that is finished is
# not run again. About six minutes of one idle core a run.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: parity_overlap.sh BUILD_DIR}
work=build/parity-overlap
text=build/parity-network/bible.txt
mkdir -p "$work" "$(dirname "$text")"
if [[ ! -s $text ]]; then
    bible 'ge1:1-rev22:21' </dev/null >"$text.part"
    mv "$text.part" "$text"
fi

# run NAME OPTIONS...
run() {
    local name=$1
    shift
    echo "parity-overlap: $name"
    "$build/bin/bench_network_parity" --name "$name" --model tests/bench/network_parity_small.yaml --text "$text" \
        --folder "$work" --slots 8 --seed 1 --codec 0 "$@"
}
run waits --rounds 40 --steps 25 --outer-rate 0.7 --momentum 0.9
run long-units --rounds 20 --steps 50 --outer-rate 0.7 --momentum 0.9
run overlap --rounds 40 --steps 25 --overlap 1 --outer-rate 0.4 --momentum 0.5

python3 - "$work" <<'PYTHON'
import csv
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
steps = {"waits": 25, "long-units": 50, "overlap": 25}
losses = {
    name: {round_ * of: loss for round_, loss in json.loads((folder / f"{name}.json").read_text())["validation"]}
    for name, of in steps.items()
}
with (folder / "curves.csv").open("w", newline="") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["steps", *losses])
    for step in sorted({step for of in losses.values() for step in of}):
        rows.writerow([step, *(of.get(step, "") for of in losses.values())])
for name, of in losses.items():
    last = of[max(of)]
    print(f"{name:12} {last:.4f} {100 * (last / losses['waits'][max(losses['waits'])] - 1):+.1f} %")
PYTHON
scripts/parity_curves.sh "$work" "steps of each slot"
