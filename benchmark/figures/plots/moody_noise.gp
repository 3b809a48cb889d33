# SPDX-License-Identifier: BSL-1.0
set title "Reduce of a double under interruptions: mean without the highest 1 % of runs"
set xlabel "ranks"
set ylabel "latency / µs"
set logscale x 2
set xrange [14:4700]
set yrange [0:*]
set key top left inside
plot "moody_noise.csv" skip 1 using (is($2, 10, $1)):(same(strcol(3), "host", $6)) with linespoints lt 2 title "host", \
     "" skip 1 using (is($2, 10, $1)):(same(strcol(3), "NIC", $6)) with linespoints lt 1 title "NIC", \
     "" skip 1 using (is($2, 10, $1)):4 with lines lt 6 dt 2 title "undisturbed"
