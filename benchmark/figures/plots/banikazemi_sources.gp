# SPDX-License-Identifier: BSL-1.0
set title "Multicasts to 31 of 64, 25 % fast, factor 4, 1 KiB (Fig. 10)"
set xlabel "sources"
set ylabel "until the last one is done / ms"
set logscale x 2
set logscale y
set xrange [3.5:75]
plot "banikazemi_sources.csv" skip 1 using (($2 == 25 && $5 == 31) ? $4 : NaN):($6/1000) with linespoints lt 1 title "naive", \
     "" skip 1 using (($2 == 25 && $5 == 31) ? $4 : NaN):($7/1000) with linespoints lt 2 title "spoc", \
     "" skip 1 using (($2 == 25 && $5 == 31) ? $4 : NaN):($8/1000) with linespoints lt 3 title "fnf, each by itself", \
     "" skip 1 using (($2 == 25 && $5 == 31) ? $4 : NaN):($9/1000) with linespoints lt 6 title "balanced"
