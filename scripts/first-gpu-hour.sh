#!/usr/bin/env bash
# first-gpu-hour.sh BUILD_DIR [FOLDER]: all that a first hour on a GPU should show. Runs the tests on each GPU, and on the first one the
# golden matrix, compute-sanitizer with all of its tools and bench_cuda. Writes one page, FOLDER/results.md, with the logs beside it
# (default: build/first-gpu-hour).
# BUILD_DIR has test_cuda_device, test_engine_golden and bench_cuda: `make setup`, then `scripts/build.sh gpu`.
# A failure does not stop it. The exit status is 0 if everything ran and passed, else 1, and 2 if nothing could be run.
# A stage that takes more than STAGE_MINUTES (20) is stopped and has failed: a kernel that hangs does not end the hour without a page.
set -euo pipefail
self=$(realpath "$0")
usage() { sed -n '2,7s/^# //p' "$self"; }
end() { echo "first-gpu-hour: $*" >&2; exit 2; }
case ${1:-} in
-h | --help) usage; exit 0 ;;
"" | -*) usage >&2; exit 2 ;;
esac
[[ -d $1 ]] || end "$1 is no folder"
build=$(realpath "$1")
folder=$(realpath -m "${2:-$(dirname "$self")/../build/first-gpu-hour}")
cd "$(dirname "$self")/.."
page=$folder/results.md
minutes=${STAGE_MINUTES:-20}
cuda=${CUDA_HOME:-/usr/local/cuda}
# Devices in the order of nvidia-smi.
export GYM_SOURCE_DIR=$PWD GYM_BINARY_DIR=$build CUDA_DEVICE_ORDER=PCI_BUS_ID
failures=0
left_out=0

configured() { sed -n "s/^-- $1//p" "$build/../configure.log" 2>/dev/null | tail -n 1; }

# One line a card, "index, UUID, capability, name"; parts of a card (MIG) are not listed here.
cards=$(nvidia-smi --query-gpu=index,uuid,compute_cap,name --format=csv,noheader 2>&1) ||
    end "nvidia-smi lists no GPU: ${cards:-no answer} (docs/WORKERS.md, \"Prepare the machine\")"
for program in test_cuda_device test_engine_golden; do
    [[ -x $build/bin/$program ]] && continue
    off=$(configured "CUDA kernels: off, ")
    [[ -z $off ]] || end "$build is built without CUDA: $off"
    end "$build/bin/$program is not built: run scripts/build.sh gpu"
done

# command_of NAME: a program of the toolkit, which need not be in PATH.
command_of() { command -v "$1" || { [[ -x $cuda/bin/$1 ]] && echo "$cuda/bin/$1"; }; }

row() { echo "| $1 | $2 | $3 |" | tee -a "$page"; }  # row WHAT RESULT SECONDS

not_run() { row "$1" "**not run**: $2" 0; left_out=$((left_out + 1)); }  # not_run WHAT REASON

# stage NAME COMMAND...: a row of the page, the output in NAME.log. What skips, or runs no test, has not passed.
stage() {
    local name=$1 begin=$SECONDS result=passed status=0
    shift
    timeout --kill-after=30 "${minutes}m" "$@" >"$folder/$name.log" 2>&1 || status=$?
    case $status in
    0) if grep -qE '^\[  SKIPPED \]|^bench_cuda: SKIPPED|^\[=+\] Running 0 tests' "$folder/$name.log"; then result="**skipped**"; fi ;;
    124 | 137) result="**stopped after $minutes minutes**" ;;
    *) result="**failed**" ;;
    esac
    row "$name" "$result" $((SECONDS - begin))
    [[ $result == passed ]] && return
    failures=$((failures + 1))
    findings "$name" >>"$folder/findings.md"
}

# findings NAME: of a log the failed tests, what they found, the first reason to skip and what the sanitizer said; else its end.
findings() {
    printf "\n### %s\n\n" "$1"
    awk '
        /^\[  FAILED  \] [0-9]+ tests?, listed below/ { next }
        /^\[  FAILED  \] / { sub(/ \([0-9]+ ms\)$/, ""); if (!seen[$0]++) print; text = 0; running = ""; next }
        /^\[ RUN / { running = $NF }
        /^\[       OK|^\[  SKIPPED/ { running = "" }
        /^\[/ { text = 0; next }
        /: Failure$/ { text = 8 }
        /: Skipped$/ { if (!skips++) text = 3; else text = 0 }
        /^bench_cuda: SKIPPED/ { print; next }
        /^=+ .*(Error|ERROR|Invalid|hazard|Uninitialized)/ { if (!seen[$0]++) print; next }
        text > 0 && NF { print; --text }
        END {
            if (skips > 1) print skips " tests were skipped"
            if (running) print "it ended in " running
        }
    ' "$folder/$1.log" | head -n 80 | sed 's/^/    /' >"$folder/found"
    [[ -s $folder/found ]] || tail -n 5 "$folder/$1.log" | sed 's/^/    /' >"$folder/found"
    cat "$folder/found"
    rm "$folder/found"
}

figures() {  # rows of bench_cuda as a table
    python3 - "$1" <<'END'
import json
import sys

print("| figure | measured | peer | ratio | unit | peer is |\n|---|---|---|---|---|---|")
for row in json.load(open(sys.argv[1])):
    cells = ["" if row[key] is None else f"{row[key]:.4g}" for key in ("ours", "peer", "ratio")]
    print(f"| {row['name']} | {' | '.join(cells)} | {row['unit']} | {row['peer_name']} |")
END
}

# The first card that can run the kernels has all stages; an older one, such as a display's, has none.
first=
while IFS=, read -r index uuid capability name; do
    uuid=${uuid# } capability=${capability# }
    if [[ -z $first && ${capability%%.*} -ge 8 ]]; then first=$uuid first_name="${name# } (device $index of nvidia-smi)"; fi
done <<<"$cards"
[[ -n $first ]] || end "no card here has compute capability 8.0 or newer:"$'\n'"$cards"

# A machine that nvidia-smi is content with may still lack what CUDA needs: one test tells, before there is a page of skipped ones.
one=$("$build/bin/test_cuda_device" --gtest_list_tests | awk '/^[^ ].*\.$/ { suite = $1 } /^  / { print suite $1; exit }') || true
tried=$([[ -n $one ]] && CUDA_VISIBLE_DEVICES=$first timeout --kill-after=30 "${minutes}m" "$build/bin/test_cuda_device" --gtest_filter="$one" 2>&1) || true
if grep -q '^\[  SKIPPED \]' <<<"$tried"; then
    end "CUDA cannot use $first_name: $(sed -n '/: Skipped$/{n;p;q}' <<<"$tried")"
fi

mkdir -p "$folder"
: >"$folder/findings.md"
nvcc=$(command_of nvcc || true)
{
    echo "# A first hour on a GPU"
    echo
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,ecc.mode.current,clocks.max.sm,power.limit --format=csv |
        sed 's/^/    /'
    echo
    echo "Commit $(git rev-parse HEAD 2>/dev/null || echo unknown), $(date -u +%Y-%m-%dT%H:%MZ), $(
        if [[ -n $nvcc ]]; then "$nvcc" --version | tail -n 1; else echo "no nvcc"; fi)"
    echo
    echo "\`cuda_device-N\` is on device N of nvidia-smi. All other stages are on $first_name."
    echo
    echo "| what | result | seconds |"
    echo "|---|---|---|"
} | tee "$page"
while IFS=, read -r index uuid capability _; do
    uuid=${uuid# } capability=${capability# }
    if [[ ${capability%%.*} -ge 8 ]]; then
        stage "cuda_device-$index" env CUDA_VISIBLE_DEVICES="$uuid" "$build/bin/test_cuda_device"
    else  # nothing that is missing
        row "cuda_device-$index" "left out: compute capability $capability, 8.0 is needed" 0
    fi
done <<<"$cards"
export CUDA_VISIBLE_DEVICES=$first
stage golden env GYM_TEST_SCALE=10 "$build/bin/test_engine_golden" --gtest_filter='*cuda*'
tool=$(command_of compute-sanitizer || true)
for check in memcheck racecheck initcheck synccheck; do
    if [[ -n $tool ]]; then
        stage "$check" "$tool" --tool "$check" --error-exitcode 1 "$build/bin/test_cuda_device"
    else
        not_run "$check" "compute-sanitizer is neither in PATH nor in $cuda/bin; it is a part of NVIDIA's CUDA Toolkit"
    fi
done
rm -f "$folder/cuda.json"
if [[ -x $build/bin/bench_cuda ]]; then
    stage bench_cuda "$build/bin/bench_cuda" --output "$folder/cuda.json"
elif [[ -n $(configured "cuBLAS not found") ]]; then
    not_run bench_cuda "it needs cuBLAS, a part of NVIDIA's CUDA Toolkit, which the build did not find"
else
    not_run bench_cuda "it is not built: scripts/build.sh gpu"
fi
{
    echo
    if [[ -s $folder/cuda.json ]]; then figures "$folder/cuda.json"; fi
    cat "$folder/findings.md"
} | tee -a "$page"
echo "first-gpu-hour: $page, $failures failures, $left_out stages not run"
((failures + left_out == 0))
