# SPDX-License-Identifier: BSL-1.0
set title "Multicast, 25 % fast, 1 KiB, by speed factor (Fig. 7)"
set xlabel "destinations"
set ylabel "times as fast as the naive binomial tree"
set xrange [0:64]
set yrange [0.9:*]
plot for [i=1:3] "banikazemi_speed.csv" skip 1 using (is($1, 2*i, $5)):15 with linespoints lt i title sprintf("fnf, speed factor %d", 2*i), \
     for [i=1:3] "" skip 1 using (is($1, 2*i, $5)):14 with linespoints lt i dt 2 title sprintf("spoc, speed factor %d", 2*i)
