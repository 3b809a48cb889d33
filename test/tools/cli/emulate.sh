#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Emulated clusters: bough measure --heterogeneous, and --emulate.
. "${0%/*}/expect.sh"

# What measure writes, tree and compare read.
json measure --heterogeneous --ranks 3 --iterations 2 --emulate 'send=0.5ms,1ms,1ms;latency=50us' --json
keep measured.json
run 0 tree fnf --cluster "$scratch/measured.json"
prints "fnf over 3 ranks, root 0"
run 0 measure --heterogeneous --ranks 3 --iterations 2
prints "acknowledged by one rank after the other"
prints "a KiB     receive     combine     a KiB"

refuses "--emulate: goes with --heterogeneous" measure --emulate send=1us
refuses "--emulate: send needs one cost, or as many as there are ranks, 3" measure --heterogeneous --ranks 3 --emulate send=1us,2us
refuses "--emulate: needs a time as 300, 1.5us, 10ms or 2s, not 'soon'" run barrier --ranks 2 --emulate latency=soon
refuses "--emulate: bandwidth needs a number above 0, not '0'" run barrier --ranks 2 --emulate bandwidth=0
refuses "--emulate: work is asleep, busy or polled, not 'lazy'" run barrier --ranks 2 --emulate work=lazy
refuses "--emulate: there is no 'speed=3'; known are send, receive" run barrier --ranks 2 --emulate 'send=1us;speed=3'
refuses "--emulate: emulation: windows are as long as their period at most" run barrier --ranks 2 --emulate window=1us,2us,3
refuses "--emulate: the file is of 3 ranks, not of 2" run barrier --ranks 2 --emulate "$scratch/measured.json"
refuses "--emulate: file '/nowhere' cannot be opened" run barrier --ranks 2 --emulate /nowhere

# A flat broadcast of 3 sends of a millisecond each, to links of 2 more.
run 0 run broadcast --ranks 4 --bytes 8 --algorithm flat --iterations 3 --emulate 'send=1ms;latency=2ms;seed=7'
prints "emulated: send=1ms;latency=2ms;seed=7"
prints "5000"
prints "right: 9 elements"
run 0 run allreduce --ranks 3 --bytes 8 --algorithm ring --iterations 2 --emulate "$scratch/measured.json"
prints "right: 6 elements"
