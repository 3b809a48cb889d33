# SPDX-License-Identifier: BSL-1.0
set title "Reduce of doubles over 31 ranks by f-nomial trees (Table 2)"
set xlabel "degree f of the tree"
set ylabel "latency / µs"
set xrange [1.8:8.2]
set yrange [0:*]
set xtics 1
plot for [i=0:3] "moody_degrees.csv" skip 1 using (is($1, 2**i, $2)):4 with linespoints lt i+1 title sprintf("%d element%s, walk", 2**i, i ? "s" : ""), \
     for [i=0:3] "" skip 1 using (is($1, 2**i, $2)):3 with lines lt i+1 dt 2 title sprintf("%d element%s, formula", 2**i, i ? "s" : "")
