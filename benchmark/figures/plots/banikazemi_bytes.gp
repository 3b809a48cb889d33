# SPDX-License-Identifier: BSL-1.0
set title "Multicast, 25 % fast, factor 4, by length (Fig. 9)"
set xlabel "destinations"
set ylabel "latency / ms"
set xrange [0:64]
set yrange [0:*]
plot for [i=1:3] "banikazemi_bytes.csv" skip 1 using (is($3, int(word("64 1024 4096", i)), $5)):($6/1000) with linespoints lt i dt 3 title sprintf("naive, %s B", word("64 1024 4096", i)), \
     for [i=1:3] "" skip 1 using (is($3, int(word("64 1024 4096", i)), $5)):($8/1000) with linespoints lt i title sprintf("fnf, %s B", word("64 1024 4096", i))
