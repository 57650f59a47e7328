#!/usr/bin/env bash
# parity_curves.sh FOLDER XLABEL: draws FOLDER/curves.csv, whose first column is the x axis and whose first line names the
# others, as FOLDER/curves.svg.
set -euo pipefail
folder=${1:?usage: parity_curves.sh FOLDER XLABEL}
label=${2:?usage: parity_curves.sh FOLDER XLABEL}
gnuplot - <<GNUPLOT
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output "$folder/curves.svg"
set datafile separator comma
set datafile missing ""
set grid lc rgb "#dddddd"
set key outside right
set xlabel "$label"
set ylabel "validation loss, nats per byte"
stats "$folder/curves.csv" skip 1 nooutput
plot for [i=2:STATS_columns] "$folder/curves.csv" using 1:i with linespoints pt 7 ps 0.4 lw 1.5 title columnheader(i)
GNUPLOT
