# SPDX-License-Identifier: BSL-1.0
set title "Broadcast to 16 nodes: what other blocks cost than those of 3072 bytes (formula, Ta = 2.06 µs)"
set xlabel "bytes of the message"
set ylabel "slower by / µs"
set xrange [0:5120]
set yrange [-5:20]
set xtics 512
set key top left inside
plot for [i in "1 2 4"] "gupta_blocks.csv" skip 1 using 1:(column(i+1)-$4) with linespoints lt i+0 title "blocks of ".(1024*i)." bytes"
