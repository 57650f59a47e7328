#!/usr/bin/env bash
# lint.sh BUILD_DIR [--changed]: clang-format and house rules over the whole tree, clang-tidy over all sources
# or, with --changed, over those that differ from LINT_BASE (default: where this branch left origin/main; without
# such a branch the previous commit): at most LINT_FILES_MAX (100) of them, those with the most changed lines first, so
# that a change of the whole tree does not take CI an hour. `make lint` looks at all.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: lint.sh BUILD_DIR [--changed]}
status=0
fail() { printf 'lint: %s\n' "$*" >&2; status=1; }

mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh')
mapfile -t units < <(git ls-files 'src/*.cpp' 'kernels/*.cpp')
if [[ ${2:-} == --changed ]]; then
    head=$(git rev-parse HEAD)
    base=${LINT_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
    [[ -n $base && $base != "$head" ]] ||
        base=$(git rev-parse --verify -q HEAD~1 || git hash-object -t tree /dev/null)
    mapfile -t units < <(git diff --numstat --no-renames --diff-filter=d "$base" -- 'src/*.cpp' 'kernels/*.cpp' |
        sort -rn | cut -f3)
    most=${LINT_FILES_MAX:-100}
    if ((${#units[@]} > most)); then
        echo "lint: ${#units[@]} changed sources; clang-tidy looks at the $most with the most new lines (make lint: at all)"
        units=("${units[@]:0:most}")
    fi
fi
echo "lint: clang-format on ${#files[@]} C++ files"

if ((${#files[@]})); then
    clang-format --dry-run -Werror "${files[@]}" || fail "clang-format: run 'make fmt'"
fi

# House rules that no other tool checks: no include that climbs out of its module, no float in money code, none of
# the flags or words that a release must not have.
git grep -nE '#include "\.\./' -- src kernels && fail "an include climbs out of its folder"
git grep -nwE 'float|double' -- src/ledger src/rewards contracts/src && fail "floating point in money code"
git grep -nE -- '-(Ofast|ffast-math|-use_fast_math)' -- '*.txt' '*.cmake' '*.cpp' '*.cu' &&
    fail "a flag that breaks bitwise results"
git grep -nE '\b(TODO|FIXME|XXX)\b' -- src kernels contracts/src sql proto && fail "unfinished work in the tree"
while read -r lines file; do
    [[ $file == total ]] || ((lines <= 600)) || fail "$file has $lines lines; 600 are allowed: split it"
done < <(git ls-files -z 'src/*.?pp' 'kernels/*' 'contracts/src/*' | xargs -0 wc -l)

# No clang of Debian 12 compiles torch 1.13's headers as C++20; warnings of GCC are errors there as everywhere.
mapfile -t units < <(printf '%s\n' "${units[@]}" | grep -ve '^src/torch_' -e '^$')
if ((${#units[@]})); then
    echo "lint: clang-tidy on ${#units[@]} files"
    # One command a source, without GCC's precompiled headers; generated headers are those of the build.
    cmake --preset release -B "$build/tidy" -DGYM_UNITY=OFF -DGYM_PCH=OFF >"$build/configure-tidy.log" 2>&1 ||
        { cat "$build/configure-tidy.log" >&2; fail "no compile commands for clang-tidy"; }
    sed -i "s#$build/tidy#$build#g" "$build/tidy/compile_commands.json"
    printf '%s\n' "${units[@]}" |
        xargs -P "$(nproc)" -n 4 clang-tidy -p "$build/tidy" --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null >"$build/clang-tidy.log" || true
    if grep -E 'warning:|error:' "$build/clang-tidy.log" | sort -u | head -50; then
        fail "clang-tidy (whole log: $build/clang-tidy.log)"
    fi
fi
# docs/SECURITY.md answers what is switched off.
echo "lint: contracts (forge lint, solhint)"
scripts/forge.sh lint src >"$build/forge-lint.log" 2>&1 || { cat "$build/forge-lint.log" >&2; fail "forge lint"; }
(cd contracts && node_modules/.bin/solhint --disc --noPoster --max-warnings 0 'src/**/*.sol') || fail "solhint"

((status == 0)) && echo "lint: clean"
exit $status
