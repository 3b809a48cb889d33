# SPDX-License-Identifier: BSL-1.0
set title "What the first split gains, by ranks (walk, Table 2; best degrees)"
set xlabel "ranks"
set ylabel "latency without a split / with one"
set logscale x 2
set xrange [2:4096]
set arrow from 2,1 to 4096,1 nohead lc rgb "#222222" lw 1
plot for [i=1:4] "moody_crossover.csv" skip 1 using (is($2, 2**i, $3)):(same(strcol(1), "float64", $4/$5)) with linespoints lt i title sprintf("float64, %d elements", 2**i), \
     for [i=1:4] "" skip 1 using (is($2, 2**i, $3)):(same(strcol(1), "int32", $4/$5)) with linespoints lt i dt 2 title sprintf("int32, %d elements", 2**i)
