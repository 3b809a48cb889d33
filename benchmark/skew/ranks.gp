# SPDX-License-Identifier: BSL-1.0
# table: what `benchmark/peers/run skew` measured. Processor time of a reduce by the number of ranks, 4 doubles, 1 ms of skew.
set title "Processor time of a reduce of ranks that come within 1 ms, 4 doubles"
set xlabel "ranks"
set ylabel "µs burned a rank"
set logscale xy 2
set logscale y 10
set xrange [3.5:18]
set xtics (4, 8, 16)
at(way, library, y) = strcol(4) eq library && strcol(5) eq way && $2 == 4 && $3 == 1000 ? (y < 0.5 ? 0.5 : y) : NaN
plot table skip 1 using 1:(at("MPI_Reduce", "openmpi", $6)) with linespoints lt 2 title "Open MPI, MPI\\_Reduce", \
     "" skip 1 using 1:(at("MPI_Reduce", "mpich", $6)) with linespoints lt 6 title "MPICH, MPI\\_Reduce", \
     "" skip 1 using 1:(at("blocking - as the transport waits", "bough", $6)) with linespoints lt 1 title "bough, blocking", \
     "" skip 1 using 1:(at("split phase - event loop", "bough", $6)) with linespoints lt 4 title "bough, event loop", \
     "" skip 1 using 1:(at("split phase - helper thread", "bough", $6)) with linespoints lt 5 title "bough, helper thread", \
     "" skip 1 using 1:(at("late ranks", "bough", $6)) with linespoints lt 3 title "bough, late ranks"
