#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough tree.
. "${0%/*}/expect.sh"

run 0 tree fnomial --degree 3 --ranks 9
prints_exactly "0(1 2 3(4 5) 6(7 8))"
run 0 tree binomial --ranks 7 --root 3 --ordered
prints_exactly "3(2 4 1(0) 5(6))"
run 0 tree binomial_high --ranks 8
prints_exactly "0(4 2(6) 1(5 3(7)))"
run 0 tree degree_k --degree 3 --ranks 6
prints_exactly "0(1 2 3 4(5))"
run 0 tree kary --degree 2 --ranks 7
prints_exactly "0(2(6 5) 1(4 3))"
run 0 tree chain --ranks 4
prints_exactly "0(1(2(3)))"
run 0 tree flat --ranks 1
prints_exactly "0"
json tree binomial --ranks 4 --json
prints_exactly '{"tree":"binomial","size":4,"root":0,"parent":[0,0,0,2],"children":[[2,1],[],[3],[]]}'
json tree chain --ranks 300 --root 7 --format json
run 0 tree flat --ranks 3 --format dot
prints "digraph tree {"
prints "0 -> 2 [label=0];"
run 0 tree binomial --ranks 8 --format svg
prints "binomial of 8, root 0"
prints "</svg>"

refuses "--ranks: needs a number from 1 to" tree flat --ranks 0
refuses "--ranks: needs a whole number, not '-3'" tree flat --ranks -3
refuses "--ranks: needs a whole number, not 'many'" tree flat --ranks many
refuses "--ranks: needs a number from 1 to" tree flat --ranks 4294967295
refuses "--ranks: needs a number from 1 to" tree flat --ranks 99999999999999999999999
refuses "--ranks is required" tree flat
refuses "--costs: does not change binomial, a shape" tree binomial --ranks 4 --costs 1,2
refuses "--latency: does not change flat, a shape" tree flat --ranks 4 --latency 5
refuses "--members: does not change chain, a shape" tree chain --ranks 4 --members 1
refuses "--costs: postal is made of --latency and --gap alone" tree postal --ranks 4 --latency 1 --gap 1 --costs 1,2
refuses "SHAPE is required" tree
refuses "SHAPE: there is no 'oak'; known are binomial, binomial_high, fnomial, degree_k, kary, chain, flat, bine, spoc, fnf, search, optimal, interval, postal, arrival" tree oak --ranks 3
refuses "--ranks: is given once, not 2 times" tree flat --ranks 9 --ranks 8
refuses "--ranks: needs a value, P" tree flat --ranks
refuses "--root: needs a number from 0 to 2, not '3'" tree flat --ranks 3 --root 3
refuses "--degree: an f-nomial tree needs a degree of at least 2" tree fnomial --degree 1 --ranks 3
refuses "--degree: a degree-k tree needs a k of at least 1" tree degree_k --degree 0 --ranks 3
refuses "--degree: a k-ary tree needs an arity of at least 1" tree kary --degree 0 --ranks 3
refuses "--degree: chain has no degree to choose" tree chain --degree 2 --ranks 3
refuses "--ordered: kary{.arity = 2} cannot keep rank order" tree kary --ordered --ranks 3
refuses "--format: there is no 'png'; known are outline, json, dot, svg" tree flat --ranks 3 --format png

run 0 tree postal --ranks 8 --latency 2 --gap 1
prints_exactly "postal over 8 ranks, root 0: ends at 0.01 us
0(1 2 3 4 5(6 7))"
json tree postal --ranks 13 --root 4 --latency 2.1us --gap 1920 --json
prints '"root": 4'
run 0 tree arrival --arrivals 0,20us,0,0,15us,0,0 --latency 2.1us --gap 1920
prints "arrival over 7 ranks, root 1: ends at 21.9 us"
run 0 tree arrival --arrivals 0,20us,0 --root 0 --latency 2.1us --gap 1920 --format dot
prints "digraph tree {"

refuses "--arrivals: is required" tree arrival --latency 1 --gap 1
refuses "--arrivals: goes with the tree 'arrival'" tree postal --ranks 3 --latency 1 --gap 1 --arrivals 1,2,3
refuses "--gap is required" tree postal --ranks 3 --latency 1
refuses "--gap: needs a time above 0" tree postal --ranks 3 --latency 1 --gap 0
refuses "--gap: needs whole nanoseconds, not '0.5'" tree postal --ranks 3 --latency 1 --gap 0.5
refuses "--gap: goes with the trees postal and arrival" tree flat --ranks 3 --gap 1
refuses "--ranks is required" tree postal --latency 1 --gap 1
refuses "--ranks: there are times of 2 ranks" tree arrival --arrivals 1,2 --ranks 3 --latency 1 --gap 1
refuses "--root: needs a number from 0 to 1" tree arrival --arrivals 1,2 --root 2 --latency 1 --gap 1
refuses "--arrivals: needs a time as 300, 1.5us" tree arrival --arrivals 1,soon --latency 1 --gap 1

# Trees of costs.
figure_1=100,300,300,300,300,100,300,300
run 0 tree fnf --costs $figure_1
prints_exactly "fnf over 8 ranks, root 0: 400, optimal
0(6 3 1 5(7 4 2))"
run 0 tree spoc --costs $figure_1
prints "spoc over 8 ranks, root 0: 500, at most 25 % above the optimum"
run 0 tree fnf --costs 1,4,4,4,3,4,2
prints "fnf over 7 ranks, root 0: 5, at most 25 % above"
run 0 tree optimal --costs 1,4,4,4,3,4,2
prints "optimal over 7 ranks, root 0: 4, optimal"
run 0 tree spoc --costs $figure_1 --root 3 --members 1,5,6
prints "3("
run 0 tree fnf --costs $figure_1 --format dot
prints '0 -> 5 [label="1: 100"];'
run 0 tree fnf --costs $figure_1 --format svg
prints ">4: 400</text>"
prints "no tree takes less than 400<"
run 0 tree spoc --costs $figure_1 --format svg
prints "no tree takes less than 400 (gap 25 %)"
json tree search --costs 5,6,7 --receive 1,2,3 --latency 2 --json
prints '"proven_optimal": true'

# Every tree has the same members; those of costs have more.
json tree spoc --costs 4,3,2,1 --root 3 --members 0,2 --json
prints '"tree": "spoc"'
prints '"size": 3'
prints '"root": 3'
prints '"parent": [3,3,3]'
prints '"children": [[0,2],[],[]]'
prints '"members": [3,0,2]'

refuses "--costs: give the costs of the ranks" tree fnf
refuses "--costs: needs numbers with commas, not 'x'" tree fnf --costs 1,x
refuses "--ranks: there are costs of 2 ranks" tree fnf --costs 1,2 --ranks 3
refuses "--ranks is required" tree flat
refuses "--members: needs a number from 0 to 1" tree fnf --costs 1,2 --members 5
