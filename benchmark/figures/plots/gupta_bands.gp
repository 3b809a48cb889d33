# SPDX-License-Identifier: BSL-1.0
set title "Degree-k allreduce over 16 nodes: from the best case to the worst"
set xlabel "bytes of the vector"
set ylabel "latency / µs"
set logscale xy
set logscale x 2
set xrange [4:4096]
set yrange [60:1000]
set ytics (60, 80, 100, 150, 200, 300, 400, 600, 800, 1000)
set style fill transparent solid 0.35 noborder
set key top left inside
ks = "1 3 7 15"
plot for [i=1:4] "gupta_bands.csv" skip 1 using (is($1, int(word(ks, i)), $2)):3:4 with filledcurves lt i notitle, \
     for [i=1:4] "" skip 1 using (is($1, int(word(ks, i)), $2)):3 with lines lt i title "degree ".word(ks, i), \
     for [i=1:4] "" skip 1 using (is($1, int(word(ks, i)), $2)):4 with lines lt i notitle
