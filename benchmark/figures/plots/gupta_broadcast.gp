# SPDX-License-Identifier: BSL-1.0
set title "Binomial broadcast by remote writes, one block"
set xlabel "bytes of the message"
set ylabel "latency / µs"
set logscale xy
set logscale x 2
set xrange [3.6:4600]
set yrange [30:1000]
set ytics (30, 50, 100, 200, 300, 500, 1000)
set key top left inside
plot for [i=1:3] "gupta_broadcast.csv" skip 1 using (is($1, int(word("16 512 1024", i)), $2)):3 with lines lt i title word("16 512 1024", i)." nodes, formula", \
     for [i=1:3] "" skip 1 using (is($1, int(word("16 512 1024", i)), $2)):4 with points lt i title word("16 512 1024", i)." nodes, walk"
