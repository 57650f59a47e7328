#!/usr/bin/env bash
# soak.sh BUILD_DIR: the long runs, pass after pass until SOAK_MINUTES (default 240) are over. A pass: every random
# test at SOAK_SCALE (default 100) times its count with a seed of its own, the golden training matrix, one-line faults
# planted in the CUDA kernels (scripts/mutants.py), settlement under 50 crashes of daemon, database and chain, a network
# in which every part is killed, one of three regions (where network namespaces are permitted), the demo. Each stage
# becomes a line of build/soak/report.jsonl. The first failure ends the run, and its seed repeats it:
# GYM_TEST_SEED=<seed>.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
report=build/soak/report.jsonl
mkdir -p build/soak && : >"$report"
end=$((SECONDS + ${SOAK_MINUTES:-240} * 60))
export GYM_TEST_SCALE=${SOAK_SCALE:-100}
exec 3>&1  # for stages that report their progress

stage() {  # stage PASS SEED NAME COMMAND...
    local pass=$1 seed=$2 name=$3 begin=$SECONDS result=passed
    shift 3
    echo "soak: pass $pass, seed $seed: $name"
    GYM_TEST_SEED=$seed "$@" >"build/soak/$name.log" 2>&1 || result=failed
    printf '{"pass": %d, "seed": %s, "scale": %d, "stage": "%s", "seconds": %d, "result": "%s"}\n' \
        "$pass" "$seed" "$GYM_TEST_SCALE" "$name" $((SECONDS - begin)) "$result" | tee -a "$report"
    [[ $result == passed ]] && return
    tail -50 "build/soak/$name.log"
    exit 1
}

run_ctest() { ctest --test-dir "$build" --output-on-failure --timeout 14400 "$@"; }
# Fifty crashes of the rewards daemon, its database and its chain.
run_crashes() { scripts/soak_rewards.sh "$build" 50; }
# A million histories at the default scale: they are short.
run_disputes() { scripts/soak_disputes.sh "$build" $((10000 * GYM_TEST_SCALE)); }

pass=0
while ((SECONDS < end)); do
    pass=$((pass + 1))
    seed=${GYM_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    stage "$pass" "$seed" demo env DEMO_FOLDER=build/soak/demo scripts/demo.sh "$build"
    stage "$pass" "$seed" restarts run_ctest -R '^devnet_restarts$'
    stage "$pass" "$seed" processes run_ctest -R 'settlement|network_processes|coordinator_process|chain_store'
    stage "$pass" "$seed" crashes run_crashes
    stage "$pass" "$seed" wan scripts/soak_wan.sh "$build"
    stage "$pass" "$seed" contracts env FOUNDRY_PROFILE=soak scripts/forge.sh test
    stage "$pass" "$seed" golden run_ctest -R golden
    stage "$pass" "$seed" mutants scripts/mutants.py "$build"
    stage "$pass" "$seed" random run_ctest -L 'fuzz|sim|scaled' -E 'golden|^dispute_simulation$'
    stage "$pass" "$seed" disputes run_disputes
done
echo "soak: $pass passes without a failure; $report"
