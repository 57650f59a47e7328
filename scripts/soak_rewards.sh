#!/usr/bin/env bash
# soak_rewards.sh BUILD_DIR [CRASHES]: gym-rewards settles epochs while it, PostgreSQL (-m immediate) and anvil are killed at
# random moments, 50 times by default. After each kill every audit view must be empty; at the end the chain must equal the
# ledger, and every earner must have its units' pay. A failure prints GYM_TEST_SEED, which repeats the choices, not the moments.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
crashes=${2:-50}
[[ $crashes =~ ^[1-9][0-9]*$ ]] || { echo "rewards: the number of crashes must be a positive integer" >&2; exit 2; }
export GYM_TEST_SEED=${GYM_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "rewards: $crashes crashes, GYM_TEST_SEED=$GYM_TEST_SEED"
GYM_CRASHES=$crashes "$build/bin/test_rewards_settlement" --gtest_filter='CrashTest.*' --gtest_brief=1
