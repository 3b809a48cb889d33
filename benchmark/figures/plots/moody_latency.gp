# SPDX-License-Identifier: BSL-1.0
set title "Reduce of one element: f-nomial trees and the optimal tree (walk, Table 2)"
set xlabel "ranks"
set ylabel "latency / µs"
set logscale x 2
set xrange [2:4096]
set yrange [0:80]
set key top left inside
plot "moody_latency.csv" skip 1 using 2:(same(strcol(1), "float64", $3)) with lines lt 2 dt 2 title "float64: 4-nomial", \
     "" skip 1 using 2:(same(strcol(1), "float64", $6)) with lines lt 2 title "float64: best f-nomial", \
     "" skip 1 using 2:(same(strcol(1), "float64", $7)) with lines lt 3 title "float64: optimal tree", \
     "" skip 1 using 2:(same(strcol(1), "int32", $3)) with lines lt 1 dt 2 title "int32: 4-nomial", \
     "" skip 1 using 2:(same(strcol(1), "int32", $6)) with lines lt 1 title "int32: best f-nomial", \
     "" skip 1 using 2:(same(strcol(1), "int32", $7)) with lines lt 5 title "int32: optimal tree", \
     "moody_reported.csv" skip 1 using 2:3 with points pt 4 ps 1.2 lw 2 lc rgb "#222222" title "measured in the paper (with a barrier)"
