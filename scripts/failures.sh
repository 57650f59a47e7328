#!/usr/bin/env bash
# Repeats what failed in the last run of ctest, without the logs around it: the end of a long output is what
# people and CI look at first.
#
#   failures.sh BUILD_FOLDER
set -euo pipefail
log=$1/Testing/Temporary/LastTest.log
[[ -r $log ]] || exit 0
echo "What failed, from $log:"
grep -E -A 8 ': Failure$|^\[  FAILED  \]|^(FAIL|ERROR): |^FAILED |^E   |AddressSanitizer|assertion failed' "$log" | head -n 200 || true
