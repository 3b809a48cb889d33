# SPDX-License-Identifier: BSL-1.0
set title "Processor time of a reduce against blocking, up to 1000 µs of skew"
set xlabel "ranks"
set ylabel "times less than blocking"
set logscale x 2
set xrange [1.8:36]
set yrange [0:20]
plot for [i=1:3] "wagner_ranks.csv" skip 1 using (is($1, int(word("4 32 128", i)), $2)):6 with linespoints lt 1 dt i title word("4 32 128", i)." doubles, bypass", \
     for [i=1:3] "" skip 1 using (is($1, int(word("4 32 128", i)), $2)):7 with linespoints lt 3 dt i title word("4 32 128", i)." doubles, split phase", \
     "-" using 1:2 with points pt 4 ps 1.2 lw 2 lc rgb "#222222" title "measured in the paper, 4 doubles"
32,5.1
e
