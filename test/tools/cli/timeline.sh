#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough timeline.
. "${0%/*}/expect.sh"

run 0 timeline allreduce recursive_doubling --ranks 13 --skew 20000
prints "allreduce by recursive_doubling over 13 ranks, 4K bytes"
prints "time in µs"
prints "simulated: "
run 0 timeline reduce fnomial --degree 4 --ranks 1024 --bytes 8
prints "</svg>"
run 0 timeline reduce flat --ranks 1
prints "</svg>"
json timeline allreduce ring --ranks 4 --bytes 64K --model 5000,1,0.25 --format trace
prints '"name":"rank 3"'

refuses "--model: needs five costs L,o,g,G,O or three alpha,beta,gamma; not '1,2'" timeline reduce flat --ranks 4 --model 1,2
refuses "--model: needs costs in ns" timeline reduce flat --ranks 4 --model fast
refuses "--model: message_latency_ns: L is at least g" timeline reduce flat --ranks 4 --model 10,2,100,0,0
refuses "--bytes: one size is needed" timeline reduce flat --ranks 4 --bytes 8,16
refuses "--format: there is no 'png'; known are svg, trace" timeline reduce flat --ranks 4 --format png
refuses "--ranks: that is too much to write out" timeline allreduce ring --ranks 100000

run 0 timeline barrier dissemination --ranks 4
prints "over 4 ranks, 0 bytes"

# README's picture.
run 0 timeline allreduce recursive_doubling --ranks 13 --bytes 16K --model 2500,800,400,0.05,0.05
cmp -s "$scratch/out" "$here/../../../doc/allreduce_13.svg" || fail "is not doc/allreduce_13.svg"
