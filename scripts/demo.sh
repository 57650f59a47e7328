#!/usr/bin/env bash
# demo.sh BUILD_DIR: the main job on embedded defaults. The text is the King James Bible of Debian's package
# bible-kjv, which is in the public domain; TEXT=FILE takes another text, LICENCE=SPDX its licence.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: demo.sh BUILD_DIR}
folder=${DEMO_FOLDER:-build/demo}
mkdir -p "$folder"
text=${TEXT:-$folder/text.txt}
if [[ ! -s $text ]]; then
    bible 'ge1:1-rev22:21' </dev/null >"$text.part"
    mv "$text.part" "$text"
fi
# The model of an earlier demo; gym exports over no other job's.
[[ ! -e $folder/model/gym.json ]] || rm -r "$folder/model"
exec "$build/bin/gym" devnet demo --root "$folder/network" --text "$text" \
    --licence "${LICENCE:-LicenseRef-public-domain}" \
    --cheating-worker-program "$build/bin/gym-faulty-worker" \
    --model "$folder/model" --report "$folder/report.json" "${@:2}"
