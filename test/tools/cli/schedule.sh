#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough schedule.
. "${0%/*}/expect.sh"

run 0 schedule allreduce recursive_doubling --ranks 3
prints "allreduce by recursive_doubling over 3 ranks, root 0, 1 block"
prints "combine       output[0..1) = op(scratch0[0..1), input[0..1))  after 0, 1"
run 0 schedule reduce fnomial --degree 4 --ranks 4294967294 --rank 4294967293
prints "send"
prints_not "rank 0"
run 0 schedule reduce binomial --ranks 1
prints "copy"
json schedule broadcast binomial --ranks 5 --blocks 2 --root 2 --json
prints '"verb":"send","peer":'
json schedule barrier dissemination --ranks 5 --rank 4 --format json
prints '"rank": 4'
prints_not '"rank": 3'

refuses "COLLECTIVE: there is no 'alltosome'; known are reduce, allreduce, broadcast, barrier, gather" schedule alltosome flat --ranks 3
refuses "ALGORITHM: reduce has no 'oak'; known are binomial, binomial_high, fnomial, degree_k, kary, chain, flat, bine" schedule reduce oak --ranks 3
refuses "ALGORITHM: scan has no 'flat'; known are recursive_doubling" schedule scan flat --ranks 3
refuses "ALGORITHM: reduce has no 'recursive_doubling'" schedule reduce recursive_doubling --ranks 3
refuses "ALGORITHM: allreduce has no 'dissemination'" schedule allreduce dissemination --ranks 3
refuses "--degree: recursive_doubling has no degree" schedule allreduce recursive_doubling --degree 2 --ranks 3
refuses "--ordered: recursive_doubling is no tree" schedule allreduce recursive_doubling --ordered --ranks 3
refuses "--ranks: needs a number from 1 to" schedule reduce flat --ranks 0
refuses "--ranks: that is too much to write out" schedule reduce flat --ranks 4294967294
refuses "--ranks: that is too much to write out" schedule reduce flat --ranks 4294967294 --rank 0
refuses "--ranks: that is too much to write out" schedule allreduce ring --ranks 4294967294 --rank 5 # --blocks was not given
refuses "--rank: needs a number from 0 to 3, not '4'" schedule reduce flat --ranks 4 --rank 4
refuses "--root: there is no rank 4 among 4 ranks" schedule reduce flat --ranks 4 --root 4
refuses "--blocks: needs a number from 1 to" schedule reduce flat --ranks 4 --blocks 0
refuses "--blocks: that is too much to write out" schedule reduce flat --ranks 4 --blocks 4000000
refuses "--blocks: a barrier has exactly one block" schedule barrier flat --ranks 4 --blocks 2
