#!/usr/bin/env bash
# parity_network.sh BUILD_DIR: does a network that compresses its deltas learn as much as one that sends FP32? Plays rounds
# of 8 and of 32 slots on the exact engine with the real codec, on the King James Bible (Debian's bible-kjv, public domain).
# Files in build/parity-network/MODEL: NAME.json has a run's validation losses, NAME.state continues an interrupted run (kill
# -9 loses at most the round under way), curves.csv and curves.svg show all runs. A run that is finished is not run again.
# Fails if a compressed run ends more than 0.5 % (with held deltas and churn: 1 %) above the dense one. Hours: about 35
# minutes of one core for a run of 8 slots.
#
# Environment: PARITY_ROUNDS (100), PARITY_SEEDS ("1 2"), PARITY_MODEL (tests/bench/network_parity.yaml), PARITY_ONLY (a
# pattern of names, such as "s8-*-seed1").
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: parity_network.sh BUILD_DIR}
rounds=${PARITY_ROUNDS:-100}
seeds=${PARITY_SEEDS:-1 2}
model=${PARITY_MODEL:-tests/bench/network_parity.yaml}
work=build/parity-network/$(basename "$model" .yaml)
text=build/parity-network/bible.txt
mkdir -p "$work"
if [[ ! -s $text ]]; then
    bible 'ge1:1-rev22:21' </dev/null >"$text.part"
    mv "$text.part" "$text"
fi

# Tuned on tests/bench/network_parity_small.yaml as far as docs/TESTING.md says.
dense=(--outer-rate 0.7 --momentum 0.9)
sparse=(--outer-rate 0.8 --momentum 0 --divisor-min 0)
trouble=(--held 0.05 --churn 0.1)

# run NAME SLOTS ROUNDS SEED OPTIONS...
run() {
    local name=$1 slots=$2 rounds=$3 seed=$4
    shift 4
    # shellcheck disable=SC2254 # a pattern is wanted
    case $name in ${PARITY_ONLY:-*}) ;; *) return 0 ;; esac
    echo "parity-network: $name"
    "$build/bin/bench_network_parity" --name "$name" --model "$model" --text "$text" --folder "$work" \
        --slots "$slots" --rounds "$rounds" --seed "$seed" "$@"
}
for seed in $seeds; do
    for size in "8 $rounds" "32 $((rounds * 2 / 5))"; do
        read -r slots length <<<"$size"
        run "s$slots-dense-seed$seed" "$slots" "$length" "$seed" --codec 0 "${dense[@]}"
        run "s$slots-codec1-seed$seed" "$slots" "$length" "$seed" --codec 1 --update 4bit "${dense[@]}"
        run "s$slots-codec2-seed$seed" "$slots" "$length" "$seed" --codec 2 --update 4bit "${sparse[@]}"
        run "s$slots-codec1-trouble-seed$seed" "$slots" "$length" "$seed" --codec 1 --update 4bit "${dense[@]}" "${trouble[@]}"
        run "s$slots-codec2-trouble-seed$seed" "$slots" "$length" "$seed" --codec 2 --update 4bit "${sparse[@]}" "${trouble[@]}"
    done
done
table=0
python3 tests/bench/network_parity_table.py "$work" || table=$?
(($(wc -l <"$work/curves.csv") > 1)) || exit "$table"  # no run has a validation yet
scripts/parity_curves.sh "$work" "round"
exit "$table"
