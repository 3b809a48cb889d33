#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough choose.
. "${0%/*}/expect.sh"

run 0 choose allreduce --ranks 13 --bytes 64K
prints "allreduce over 13 ranks, 65536 bytes: "
prints "candidates, the model expects it to be the fastest"
prints "model: alpha 5.00 us, beta 1 ns/byte, gamma 0.25 ns/byte"
run 0 choose allreduce --ranks 13 --bytes 64K --require order,bits --all
prints "does not keep rank order, and that is required"
prints_not "at least"
run 0 choose allreduce --ranks 8 --bytes 8 --model 1000000,0,0
prints "recursive_doubling, 3.00 ms"
prints_not "census"
run 0 choose allreduce --ranks 13 --bytes 8 --exact --model 1000,0,0
prints "allreduce over 13 ranks, 8 bytes: census"
run 0 choose barrier --ranks 7
prints "barrier over 7 ranks, 0 bytes"
for collective in reduce broadcast gather scatter reduce_scatter allgather scan exscan alltoall; do
    run 0 choose "$collective" --ranks 7 --bytes 8,1M
    prints "$collective over 7 ranks"
done
json choose reduce --ranks 9 --root 4 --bytes 8,64K --json
prints '"root": 4'
printf '{"model":{"message_latency_ns":100,"receive":{"base_ns":1,"per_byte_ns":0.5},"combine":{"base_ns":1,"per_byte_ns":0.5},"startup_ns":0}}' >"$scratch/model.json"
run 0 choose allreduce --ranks 4 --bytes 8 --model "$scratch/model.json"
prints "model: L 0.10 us"
printf '{"alpha_ns":1000,"beta_ns_per_byte":0.5,"gamma_ns_per_byte":-1}' >"$scratch/model.json"

refuses "--model: file '$scratch/model.json' has no cost \"gamma_ns_per_byte\"" choose allreduce --ranks 4 --model "$scratch/model.json"
refuses "--model: needs a file, or three costs as 5000,1,0.25" choose allreduce --ranks 4 --model 1,2
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,2,3,4
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,-2,3
refuses "--model: file 'none' cannot be opened" choose allreduce --ranks 4 --model none

run 0 choose reduce --ranks 3 --bytes 1M --model 1e308,1e308,1e308 # times that no number tells
prints ", over 1e15 s"
run 0 choose reduce --ranks 3 --bytes 8 --model 0,0,0
prints ", 0.00 us"
prints_not "times as long"

refuses "--require: there is no 'luck'; known are order, bits, any_size" choose allreduce --ranks 4 --require luck
refuses "--ranks is required" choose allreduce
refuses "--table: file '$scratch/model.json' holds no table" choose allreduce --ranks 4 --table "$scratch/model.json"

run 0 choose reduce --ranks 7 --root 1 --bytes 8 --arrivals 0,20us,0,0,15us,0,0
prints 'reduce over 7 ranks, 8 bytes, root 1: tree_reduce{table "arrival"}'
prints 'tree_reduce{table "postal"}'
printf '{"model":{"message_latency_ns":2100,"receive":{"base_ns":420,"per_byte_ns":0},"combine":{"base_ns":1500,"per_byte_ns":0},"startup_ns":0}}' >"$scratch/model.json"
run 0 choose reduce --ranks 64 --bytes 8 --model "$scratch/model.json" --require order
prints 'reduce over 64 ranks, 8 bytes, rank order required: tree_reduce{table "postal"}'
run 0 choose broadcast --ranks 64 --bytes 8 --all
prints 'tree_broadcast{table "postal"}'

refuses "--arrivals: is for reduce and allreduce" choose broadcast --ranks 2 --arrivals 1,2
refuses "--arrivals: there are times of 2 ranks, not of 3" choose reduce --ranks 3 --arrivals 1,2
