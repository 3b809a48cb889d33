#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough tune.
. "${0%/*}/expect.sh"

json tune allreduce --ranks 2..3 --bytes 8,1K --iterations 3
keep tuned.json
prints '"algorithm":"recursive_doubling"'
run 0 choose allreduce --ranks 3 --bytes 64 --table "$scratch/tuned.json"
prints "by the table: allreduce over 3 ranks, 64 bytes: "
prints "it was measured as the fastest"
json tune barrier --ranks 2 --iterations 3
lines 1 '"algorithm":"dissemination"'

refuses "--bytes: 12 bytes are no whole number of f64" tune allreduce --ranks 2 --bytes 12
refuses "--ranks: at most 64" tune allreduce --ranks 2..100
refuses "--bytes: 1G on each of 4 ranks is too much" tune allreduce --ranks 4 --bytes 8,1G
refuses "--transport: there is no 'pigeon'" tune allreduce --transport pigeon

sed 's/"ranks":2/"ranks":-2/' "$scratch/tuned.json" >"$scratch/bad.json"
refuses "--table: file '$scratch/bad.json' has a row whose \"ranks\" is not a number" choose allreduce --ranks 3 --table "$scratch/bad.json"

sed 's/"collective":"allreduce"/"collective":"pigeon"/' "$scratch/tuned.json" >"$scratch/bad.json"
refuses "--table: file '$scratch/bad.json' has a row of the collective 'pigeon'" choose allreduce --ranks 3 --table "$scratch/bad.json"

json tune one_sided --bytes 64..256 --iterations 1
matches '"static_bytes":[1-9]'

refuses "--bytes: blocks and pieces have 64 bytes to 16M" tune one_sided --bytes 8..64
refuses "--transport: there is no 'pigeon' to write remotely over" tune one_sided --transport pigeon
refuses "--provider: goes with one_sided" tune allreduce --provider shm
refuses "--provider: goes with fabric" tune one_sided --transport in_process --provider shm
refuses "--ranks: one_sided is measured between 2 ranks, not '2..9'" tune one_sided --ranks 2..9
