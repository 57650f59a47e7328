#!/bin/sh
# ptxas_report.sh PTXAS PTX REPORT: what ptxas says of a file's kernels on devices of compute capability 8.0, 8.6 and 9.0.
for device in sm_80 sm_86 sm_90; do
    "$1" -v -arch=$device -o /dev/null "$2" || exit 1
done >"$3" 2>&1 || { cat "$3" >&2; rm -f "$3"; exit 1; }
