#!/usr/bin/env bash
# parity.sh BUILD_DIR: trains the same models with exact ops and in libtorch FP32 on the same batches and compares the
# losses: 2,000 steps of gpt-tiny on bytes, 1,000 steps with 32,000 SentencePiece tokens. Rows in
# build/bench/parity.json, losses in build/parity/*.csv, curves in docs/loss_parity_*.svg. About ten minutes each on an
# idle core. Fails if a final loss differs by more than 0.5 %.
#
# Texts: the King James Bible (Debian's bible-kjv, public domain) and, for the 32,000 pieces, which the Bible alone does
# not have, the definitions of WordNet 3.0 (Debian's wordnet-base; Princeton's licence: free use with its notice).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: parity.sh BUILD_DIR}
work=build/parity
mkdir -p "$work" build/bench
: >build/bench/parity.json

if [[ ! -s $work/bible.txt ]]; then
    bible 'ge1:1-rev22:21' </dev/null >"$work/bible.part"
    mv "$work/bible.part" "$work/bible.txt"
fi
if [[ ! -s $work/words.txt ]]; then
    # A definition is what stands after the bar; the first 29 lines are the licence. They come in the order of topics, so
    # they are shuffled (always alike), and 50 follow each paragraph of the Bible: every part of the text has both.
    tail -qn +30 /usr/share/wordnet/data.{noun,verb,adj,adv} | sed -n 's/ *$//; s/.* | //p' |
        shuf --random-source="$work/bible.txt" >"$work/definitions.txt"
    awk 'FNR == NR { definition[NR] = $0; next }
         { print; for (i = 0; i < 50; ++i) if (++next_one in definition) print definition[next_one] }' \
        "$work/definitions.txt" RS= "$work/bible.txt" >"$work/words.part"
    mv "$work/words.part" "$work/words.txt"
fi
if [[ ! -s $work/pieces.model ]]; then
    echo "parity: training 32,000 pieces"
    spm_train --input="$work/words.txt" --model_prefix="$work/pieces" --vocab_size=32000 --byte_fallback=true \
        --normalization_rule_name=identity --num_threads=1 --minloglevel=1
fi
"$build/bin/gym" data build --text "$work/bible.txt" -o "$work/bytes.gymd"
"$build/bin/gym" data build --text "$work/words.txt" --sentencepiece "$work/pieces.model" -o "$work/words.gymd"

# compare NAME MODEL STEPS TITLE
compare() {
    echo "parity: $1: $3 steps"
    # glibc would give libtorch's large tensors back to the system at every step.
    MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 \
        "$build/bin/bench_loss_parity" --name "$1" --model "$2" --data "$work/$1.gymd" --steps "$3" --threads 1 \
        --csv "$work/$1.csv" --output build/bench/parity.json || failed=1
    [[ -s $work/$1.csv ]] || return 0
    gnuplot - <<GNUPLOT
set terminal svg size 900,640 font "sans-serif,13" background "white"
set output "docs/loss_parity_$1.svg"
set datafile separator comma
set datafile columnheaders
set datafile missing ""
set grid lc rgb "#dddddd"
set key below
set multiplot layout 2,1
set title "$4"
set ylabel "loss, nats per token"
plot "$work/$1.csv" every 5 using "step":"fp32_mean" with lines lw 4 lc rgb "#f0a860" title "libtorch FP32, mean of 50 steps", \
     "" every 5 using "step":"exact_mean" with lines lw 1.2 lc rgb "#1f4e99" title "exact ops, mean of 50 steps", \
     "" using "step":"fp32_validation" with points pt 6 ps 0.9 lc rgb "#d06010" title "libtorch FP32, validation", \
     "" using "step":"exact_validation" with points pt 2 ps 0.6 lc rgb "#1f4e99" title "exact ops, validation"
set title "Difference from libtorch FP32 (bound at the end: 0.5 %)"
set xlabel "step"
set ylabel "%"
percent(a, b) = 100 * (a - b) / b
plot 0.5 with lines dt 2 lc rgb "#999999" notitle, -0.5 with lines dt 2 lc rgb "#999999" notitle, \
     "$work/$1.csv" every 5 using "step":(percent(column("fp32_rounded_mean"), column("fp32_mean"))) with lines lc rgb "#f0a860" \
         title "FP32 from initial weights rounded to TF32, mean of 50 steps", \
     "" every 5 using "step":(percent(column("exact_mean"), column("fp32_mean"))) with lines lc rgb "#1f4e99" \
         title "exact ops, mean of 50 steps", \
     "" using "step":(percent(column("exact_validation"), column("fp32_validation"))) with points pt 2 ps 0.6 lc rgb "#1f4e99" \
         title "exact ops, validation"
GNUPLOT
}
failed=0
compare bytes examples/gpt-tiny.yaml 2000 "Bytes: gpt-tiny, 1,024 tokens a step, King James Bible"
compare words tests/bench/loss_parity_words.yaml 1000 \
    "32,000 SentencePiece tokens: 256 tokens a step, King James Bible and WordNet's definitions"
((failed == 0)) || { echo "parity: a final loss differs by more than 0.5 %" >&2; exit 1; }
echo "parity: build/bench/parity.json, docs/loss_parity_bytes.svg, docs/loss_parity_words.svg"
