#!/usr/bin/env bash
# soak_disputes.sh BUILD_DIR [HISTORIES]: simulates disputes, a million histories by default, on all cores. The histories
# have consecutive seeds from GYM_TEST_SEED (default: a random one) and run in parts of SOAK_PART (default 20,000). Each
# part that passed becomes a line of build/soak/disputes-SEED.txt. After an interruption, the same command with
# GYM_TEST_SEED=SEED continues after the last line. A failure prints the seed of the history, which repeats it.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
histories=${2:-1000000}
part=${SOAK_PART:-20000}
seed=${GYM_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
((part > 0 && part % 1000 == 0)) || { echo "disputes: SOAK_PART must be thousands" >&2; exit 2; }
mkdir -p build/soak
passed=build/soak/disputes-$seed.txt
log=$(mktemp)
trap 'rm -f "$log"' EXIT
touch "$passed"

# Also to descriptor 3, where `make soak` has its terminal: standard output is its log.
say() {
    echo "disputes: $*"
    { echo "disputes: $*" >&3; } 2>/dev/null || true
}

done=$(awk '{ sum += $1 } END { print sum + 0 }' "$passed")
say "$histories histories, GYM_TEST_SEED=$seed, $done of them played before"
begin=$SECONDS before=$done
while ((done < histories)); do
    if ! GYM_TEST_SEED=$((seed + done)) GYM_TEST_SCALE=$((part / 1000)) "$build/bin/test_dispute_simulation" \
        --gtest_filter=DisputeSimulation.NoHistory* --gtest_brief=1 >"$log" 2>&1; then
        cat "$log"
        say "a history failed behind $done that passed; its seed repeats it:" \
            "GYM_TEST_SEED=<seed> ctest --test-dir $build -R '^dispute_simulation\$' --output-on-failure"
        exit 1
    fi
    grep ' histories: ' "$log" | tee -a "$passed"
    done=$((done + part))
    seconds=$((SECONDS - begin))
    say "$done of $histories passed, $(((done - before) / (seconds > 0 ? seconds : 1))) a second"
done
say "$done histories without a failure, GYM_TEST_SEED=$seed; $passed"
