# SPDX-License-Identifier: BSL-1.0
set title "Reduce of a double over 900 ranks whose processors are interrupted (simulated)"
set xlabel "latency / µs, in steps of 4"
set ylabel "share of 2000 runs / %"
set logscale y
set xrange [36:200]
set yrange [0.03:100]
set key top right inside Right noreverse
set style fill solid 0.5 noborder
plot "moody_histogram.csv" skip 1 using (same(strcol(1), "host", $2+1.2)):($3 > 0 ? 100*$3 : NaN):(1.7) with boxes lt 2 title "host: any step may be delayed", \
     "" skip 1 using (same(strcol(1), "NIC", $2+2.9)):($3 > 0 ? 100*$3 : NaN):(1.7) with boxes lt 1 title "NIC: only start and end"
