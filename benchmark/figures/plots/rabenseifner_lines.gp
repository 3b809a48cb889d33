# SPDX-License-Identifier: BSL-1.0
set terminal svg size 860,960
set multiplot layout 3,2 title "Speed of an allreduce against halving + doubling (5 µs, 1 ns/B, 0.25 ns/B)" font "Helvetica,18"
set logscale x 2
set xlabel "bytes of the vector"
set ylabel "times as fast"
set xrange [1024:17000000]
set yrange [0:2.2]
set xtics ("1 KiB" 1024, "32 KiB" 32768, "1 MiB" 1048576, "16 MiB" 16777216)
unset key
file = "rabenseifner_lines.csv"
do for [p in "13 15 33 127"] {
    set title p." ranks" font "Helvetica,14"
    plot file skip 1 using (is($1, int(p), $2)):(1) with lines lt 6 dt 2, \
         "" skip 1 using (is($1, int(p), $2)):6 with lines lt 5, \
         "" skip 1 using (is($1, int(p), $2)):4 with lines lt 1, \
         "" skip 1 using (is($1, int(p), $2)):5 with lines lt 4, \
         "" skip 1 using (is($1, int(p), $2)):7 with lines lt 3, \
         "" skip 1 using (is($1, int(p), $2)):8 with lines lt 2
}
# The last panel is the legend.
set key inside top left
unset border
unset tics
unset grid
set title ""
set xlabel ""
set ylabel ""
plot -1 lt 6 dt 2 title "halving + doubling", -1 lt 5 title "recursive doubling", -1 lt 1 title "binary blocks", \
     -1 lt 4 title "ring", -1 lt 3 title "the best in rank order, bough's newer ones too", \
     -1 lt 2 title "the best, bough's newer ones too"
unset multiplot
