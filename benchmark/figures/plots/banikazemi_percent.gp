# SPDX-License-Identifier: BSL-1.0
set title "Multicast, speed factor 4, 1 KiB, by fast nodes (Fig. 8)"
set xlabel "destinations"
set ylabel "times as fast as the naive binomial tree"
set xrange [0:64]
set yrange [0.9:*]
plot for [i=1:3] "banikazemi_percent.csv" skip 1 using (is($2, int(word("10 25 50", i)), $5)):15 with linespoints lt i title sprintf("fnf, %s %% fast", word("10 25 50", i)), \
     for [i=1:3] "" skip 1 using (is($2, int(word("10 25 50", i)), $5)):14 with linespoints lt i dt 2 title sprintf("spoc, %s %% fast", word("10 25 50", i))
