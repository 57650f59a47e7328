#!/usr/bin/env bash
# first-gpu-hour.sh BUILD_DIR [FOLDER]: all that a first hour on a GPU should show. Runs the tests on the device, the golden matrix,
# compute-sanitizer with all of its tools (if it is installed) and bench_cuda, and writes one page, FOLDER/results.md, with the logs
# beside it (default: build/first-gpu-hour). A failure does not stop it: the page says so, and the exit status is 1 at the end.
# BUILD_DIR has test_cuda_device, test_engine_golden and bench_cuda: `make setup`, then `scripts/build.sh benchmarks`.
# A stage that takes more than STAGE_MINUTES (20) is stopped and has failed: a kernel that hangs does not end the hour without a page.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: first-gpu-hour.sh BUILD_DIR [FOLDER]}")
folder=${2:-build/first-gpu-hour}
page=$folder/results.md
export GYM_SOURCE_DIR=$PWD GYM_BINARY_DIR=$build
failures=0

end() { echo "first-gpu-hour: $*" >&2; exit 2; }

gpus=$(nvidia-smi -L 2>/dev/null || true)
[[ -n $gpus ]] || end "nvidia-smi finds no GPU"
for program in test_cuda_device test_engine_golden bench_cuda; do
    [[ -x $build/bin/$program ]] || end "$build/bin/$program is not built: run scripts/build.sh benchmarks"
done
mkdir -p "$folder"
: >"$folder/findings.md"

row() { echo "| $1 | $2 | $3 |" | tee -a "$page"; }  # row WHAT RESULT SECONDS

# stage NAME COMMAND...: a row of the page, the output in NAME.log. Skipped tests of a device are a failure here.
stage() {
    local name=$1 begin=$SECONDS result=passed status=0
    shift
    timeout --kill-after=30 "${STAGE_MINUTES:-20}m" "$@" >"$folder/$name.log" 2>&1 || status=$?
    case $status in
    0) ;;
    124 | 137) result="**stopped after ${STAGE_MINUTES:-20} minutes**" ;;
    *) result="**failed**" ;;
    esac
    if grep -q '^\[  SKIPPED \]' "$folder/$name.log"; then result="**skipped**"; fi
    row "$name" "$result" $((SECONDS - begin))
    [[ $result == passed ]] && return
    failures=$((failures + 1))
    findings "$name" >>"$folder/findings.md"
}

# findings NAME: the failed tests of a log and what the sanitizer said first, or its end.
findings() {
    printf "\n### %s\n\n" "$1"
    { grep -E '^\[  (FAILED|SKIPPED) \]|^=+ .*(Error|ERROR|Invalid|hazard|Uninitialized)' "$folder/$1.log" ||
        tail -n 5 "$folder/$1.log"; } | sort -u | head -n 40 | sed 's/^/    /'
}

sanitizer() {
    command -v compute-sanitizer && return
    ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null
}

figures() {  # rows of bench_cuda as a table
    python3 - "$1" <<'EOF'
import json
import sys

print("| figure | measured | peer | ratio | unit | peer is |\n|---|---|---|---|---|---|")
for row in json.load(open(sys.argv[1])):
    cells = ["" if row[key] is None else f"{row[key]:.4g}" for key in ("ours", "peer", "ratio")]
    print(f"| {row['name']} | {' | '.join(cells)} | {row['unit']} | {row['peer_name']} |")
EOF
}

{
    echo "# A first hour on a GPU"
    echo
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,ecc.mode.current,clocks.max.sm,power.limit --format=csv |
        sed 's/^/    /'
    echo
    echo "Commit $(git rev-parse HEAD 2>/dev/null || echo unknown), $(date -u +%Y-%m-%dT%H:%MZ), $(nvcc --version 2>/dev/null | tail -1 || true)"
    echo
    echo "| what | result | seconds |"
    echo "|---|---|---|"
} | tee "$page"
for ((device = 0; device < $(wc -l <<<"$gpus"); ++device)); do
    stage "cuda_device-$device" env CUDA_VISIBLE_DEVICES="$device" "$build/bin/test_cuda_device"
done
stage golden env GYM_TEST_SCALE=10 "$build/bin/test_engine_golden" --gtest_filter='*cuda*'
tool=$(sanitizer || true)
for check in memcheck racecheck initcheck synccheck; do
    if [[ -z $tool ]]; then
        row "$check" "not run: compute-sanitizer is not installed" 0
    else
        stage "$check" "$tool" --tool "$check" --error-exitcode 1 "$build/bin/test_cuda_device"
    fi
done
rm -f "$folder/cuda.json"
stage bench_cuda "$build/bin/bench_cuda" --output "$folder/cuda.json"
{
    echo
    if [[ -s $folder/cuda.json ]]; then figures "$folder/cuda.json"; fi
    cat "$folder/findings.md"
} | tee -a "$page"
echo "first-gpu-hour: $page, $failures failures"
((failures == 0))
