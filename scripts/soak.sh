#!/usr/bin/env bash
# soak.sh: the long runs. Every random test at GYM_TEST_SCALE (default 1000) with a fresh seed each pass, the
# golden training matrix, and the demo again and again, until SOAK_HOURS (default 4) have passed. Prints seed and
# result of each pass; stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
end=$((SECONDS + ${SOAK_HOURS:-4} * 3600))
pass=0
while ((SECONDS < end)); do
    pass=$((pass + 1))
    seed=${GYM_TEST_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "soak: pass $pass, seed $seed"
    GYM_TEST_SEED=$seed GYM_TEST_SCALE=${GYM_TEST_SCALE:-1000} \
        ctest --test-dir "$build" --output-on-failure --timeout 14400 -L 'fuzz|sim|scaled'
    ctest --test-dir "$build" --output-on-failure --timeout 3600 -R 'golden|settlement|network'
    scripts/demo.sh "$build"
done
echo "soak: $pass passes without a failure"
