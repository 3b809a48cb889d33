# SPDX-License-Identifier: BSL-1.0
set title "Reduce over 512 ranks: the vector split s times (walk, Table 2)"
set xlabel "splits"
set ylabel "latency / µs"
set xrange [-0.1:4.1]
set yrange [0:*]
set xtics 1
plot for [i=1:4] "moody_split.csv" skip 1 using (is($2, 2**i, $3)):(same(strcol(1), "float64", $5)) with linespoints lt i title sprintf("float64, %d elements", 2**i), \
     for [i=1:4] "" skip 1 using (is($2, 2**i, $3)):(same(strcol(1), "int32", $5)) with linespoints lt i dt 2 title sprintf("int32, %d elements", 2**i)
