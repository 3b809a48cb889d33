# SPDX-License-Identifier: BSL-1.0
# How all plots look: read before each of the others.
set terminal svg size 860,520 enhanced background rgb "white" font "Helvetica,14"
set datafile separator ","
set encoding utf8
set border 3 lw 1
set tics nomirror out
set grid lc rgb "#dddddd" lw 1
set key outside right top Left reverse spacing 1.2 samplen 2
set title font "Helvetica,18"
set linetype 1 lc rgb "#4477aa" lw 2 pt 7 ps 0.6
set linetype 2 lc rgb "#ee6677" lw 2 pt 5 ps 0.6
set linetype 3 lc rgb "#228833" lw 2 pt 9 ps 0.8
set linetype 4 lc rgb "#ccbb44" lw 2 pt 11 ps 0.8
set linetype 5 lc rgb "#66ccee" lw 2 pt 13 ps 0.8
set linetype 6 lc rgb "#aa3377" lw 2 pt 7 ps 0.6
set linetype cycle 6
# The rows of a table whose column is one value: a number, or a word.
is(a, b, y) = a == b ? y : NaN
same(a, b, y) = a eq b ? y : NaN
bytes_text(x) = x >= 1048576 ? sprintf("%d MiB", x / 1048576) : x >= 1024 ? sprintf("%d KiB", x / 1024) : sprintf("%d B", x)
set datafile missing NaN
