# SPDX-License-Identifier: BSL-1.0
set terminal svg size 860,640
set multiplot layout 2,1 title "Reduce over 32 ranks that come up to so much apart (4 and 128 doubles)" font "Helvetica,18"
set xlabel "skew / µs"
set xrange [0:1000]
set yrange [0:*]
set ylabel "processor time per rank / µs"
plot for [i=1:2] "wagner_skew.csv" skip 1 using (is($1, int(word("4 128", i)), $2)):3 with linespoints lt 2 dt i title word("4 128", i)." doubles, blocking", \
     for [i=1:2] "" skip 1 using (is($1, int(word("4 128", i)), $2)):4 with linespoints lt 1 dt i title word("4 128", i)." doubles, bypass", \
     for [i=1:2] "" skip 1 using (is($1, int(word("4 128", i)), $2)):5 with linespoints lt 3 dt i title word("4 128", i)." doubles, split phase"
set ylabel "times less than blocking"
plot for [i=1:2] "wagner_skew.csv" skip 1 using (is($1, int(word("4 128", i)), $2)):6 with linespoints lt 1 dt i title word("4 128", i)." doubles, bypass", \
     for [i=1:2] "" skip 1 using (is($1, int(word("4 128", i)), $2)):7 with linespoints lt 3 dt i title word("4 128", i)." doubles, split phase"
unset multiplot
