#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough compare.
. "${0%/*}/expect.sh"

figure_1=100,300,300,300,300,100,300,300
run 0 compare --costs $figure_1
prints "  binomial         700        75.0 %  0(1 2(3) 4(5 6(7)))"
prints "  optimal          400         0.0 %"
prints_not interval
run 0 compare reduce --costs $figure_1 --receive $figure_1 --root all
prints interval
run 0 compare reduce --costs 100,500,100,300 --receive 100,200,200,200
prints "  binomial         700        16.7 %"
prints "  spoc             900        50.0 %"
prints "  optimal          600         0.0 %"
json compare allreduce --costs 1,2,3 --json
run 0 compare --costs 1
prints "broadcast among 1 rank, root 0"

refuses "COLLECTIVE: there is no 'scan' to compare" compare scan --costs 1,2
