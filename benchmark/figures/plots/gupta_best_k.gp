# SPDX-License-Identifier: BSL-1.0
set title "Best k of a degree-k reduce: best case (squares) and middle (dots)"
set xlabel "bytes of the vector"
set ylabel "nodes"
set logscale xy 2
set xrange [3:5600]
set yrange [3:1400]
set key outside right top
ks = "1 3 7"
plot for [i=1:3] "gupta_best_k.csv" skip 1 using (is($3, int(word(ks, i)), $2)):1 with points pt 4 ps 1.8 lw 2 lc rgb word("#4477aa #ee6677 #228833", i) title "k = ".word(ks, i).", best case", \
     for [i=1:3] "" skip 1 using (is($4, int(word(ks, i)), $2)):1 with points pt 7 ps 0.8 lc rgb word("#4477aa #ee6677 #228833", i) title "k = ".word(ks, i).", middle"
