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
# Where a message needs both its ranks, binary blocks do not win with 13 ranks.
run 0 choose allreduce --ranks 13 --bytes 64K --require order
prints "rank order required: binary_blocks_allreduce, 235 us"
run 0 choose allreduce --ranks 13 --bytes 64K --require order --eager 0
prints "rank order required: per_level, 259 us"
prints "model: alpha 5.00 us, beta 1 ns/byte, gamma 0.25 ns/byte; eager up to 0 bytes"
run 0 choose allreduce --ranks 13 --bytes 64K --require order --eager 0 --all
prints "binary_blocks_allreduce                        316 us"
run 0 choose allreduce --ranks 13 --bytes 64K --require order --eager 64K
prints "rank order required: binary_blocks_allreduce, 235 us"
run 0 choose reduce --ranks 3 --bytes 8 --eager 0 --arrivals 0,20us,0
prints "eager up to 0 bytes"
run 0 choose allreduce --ranks 4 --bytes 64K --eager 1K --network crossbar:4,1
prints "network: crossbar:4,1; lrc:1us,0,0; eager up to 1024 bytes"
# Messages that need both their ranks use all ports at once, and go both ways: here and in simulate.
run 0 choose allreduce --ranks 64 --bytes 32M --network torus:8x8,50,200,hop=50 --eager 64K
prints "allreduce over 64 ranks, 33554432 bytes: swing{.extents = {8, 8}}, 400 us"
run 0 simulate allreduce swing --extents 8x8 --ranks 64 --bytes 32M --network torus:8x8,50,200,hop=50 --model lrc:1us,0,0 --eager 64K
prints "last rank ends    400 us"
{ printf 'hosts 8\nswitches 1\n'; for h in 0 1 2 3 4 5 6 7; do echo "cable $h 8 $((h == 3 ? 10 : 20))"; done; } >"$scratch/star"
run 0 choose allreduce --ranks 8 --bytes 64M --network "$scratch/star" --eager 64K
prints "slow_rank{.slow = 3} in 112 blocks, 7.17 ms"
run 0 simulate allreduce slow_rank --root 3 --blocks 112 --ranks 8 --bytes 64M --network "$scratch/star" --model lrc:1us,0,0 --eager 64K
prints "last rank ends    7166 us"
json choose neighbour_alltoall --neighbours box:4x4x4 --bytes 13K --eager 1K --json
prints 'eager up to 1024 bytes'
refuses "--eager: needs a whole number" choose allreduce --ranks 4 --eager much
refuses "--eager: one size is needed" choose allreduce --ranks 4 --eager 1K,64K
refuses "--eager: goes with --model, where --transport is given" choose allreduce --ranks 2 --transport in_process --eager 0
printf '{"alpha_ns":1000,"beta_ns_per_byte":0.5,"gamma_ns_per_byte":-1}' >"$scratch/model.json"

refuses "--model: file '$scratch/model.json' has no cost \"gamma_ns_per_byte\"" choose allreduce --ranks 4 --model "$scratch/model.json"
refuses "--model: needs a file, or three costs as 5000,1,0.25" choose allreduce --ranks 4 --model 1,2
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,2,3,4
refuses "--model: needs a file, or three costs" choose allreduce --ranks 4 --model 1,-2,3
refuses "--model: file 'none' cannot be opened" choose allreduce --ranks 4 --model none

run 0 choose broadcast --ranks 6 --bytes 64M --network torus:6,10,20
prints "broadcast over 6 ranks, 67108864 bytes: packed_trees_broadcast{2 trees} in "
prints "of what this network can do: no plan takes less than 3.36 ms"
run 0 choose allreduce --ranks 6 --bytes 64M --network rails:2,3,10,30
prints "allreduce over 6 ranks, 67108864 bytes: packed_trees_allreduce{26 trees} in "
prints "of what is possible along its paths: no plan takes less than 2.80 ms there"
# A vector that does not divide, in blocks of which some are a byte longer: the bound stays below all runs.
printf '%s\n' 'hosts 3' 'switches 1' 'cable 1 3 8' 'cable 2 3 36' 'cable 3 0 31' >"$scratch/three"
for c in allgather reduce_scatter; do
    command -v python3 >/dev/null || break
    json choose $c --ranks 3 --bytes 2071783 --network "$scratch/three" --model lrc:0,0,0 --all --json
    python3 - "$scratch/out" <<'end' || fail "$c: a run is below the bound"
import json, sys
d = json.load(open(sys.argv[1]))["decisions"][0]
times = [c["ns"] for c in d["candidates"] if "ns" in c]
assert len(times) > 4 and 0.99 < d["share_of_bound"] <= 1 + 1e-9 and d["least_ns"] <= min(times) * (1 + 1e-9)
end
done
run 0 choose allgather --ranks 4 --bytes 64M --network torus:4,10,20
prints "allgather over 4 ranks, 67108864 bytes: packed_trees_allgather{24 trees} in "
prints "of what this network can do: no plan takes less than "
json choose allreduce --ranks 6 --bytes 64M --network rails:2,3,10,30 --json
prints '"least_along_paths_ns": '
run 0 choose reduce --ranks 3 --bytes 1M --model 1e300,1e300,1e300
prints ", over 1e15 s"
run 1 choose reduce --ranks 3 --bytes 1M --model 1e308,1e308,1e308 # times that no number tells
prints "none of the candidates may be taken"
prints "out: has no price: a cost is infinite, negative or not a number"
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
prints 'reduce over 64 ranks, 8 bytes, rank order required: tree_reduce{fnomial{.degree = 2}}'
prints 'it is near the fastest, and better in a loop of calls'
prints 'tree_reduce{table "postal"}' # the fastest alone
run 0 choose broadcast --ranks 64 --bytes 8 --all
prints 'tree_broadcast{table "postal"}'

# However late the last rank is.
for late in 9ms 10s 1000s; do
    run 0 choose allreduce --ranks 4 --bytes 1M --arrivals "0,0,$late,0" --model 3000,0.1,0
    prints "allreduce over 4 ranks, 1048576 bytes: late_rank{.late = 2} in "
done
run 0 choose allreduce --ranks 4 --bytes 1M --arrivals 0,0,9ms,0 --network torus:4,10,20
prints "1048576 bytes: swing{.extents = {4}}, 9.08 ms"
prints "it is the fastest over this network"
prints "late_rank{.late = 2} in 8 blocks" # a candidate
prints_not "of what this network can do" # which is a bound for ranks that come together
json choose allreduce --ranks 4 --bytes 1M --arrivals 0,0,9ms,0 --network torus:4,10,20 --json
prints_not '"least_ns"'
run 0 choose reduce --ranks 7 --root 1 --bytes 8 --arrivals 0,20us,0,0,15us,0,0 --network crossbar:7,10
prints 'tree_reduce{table "arrival"}'
refuses "--arrivals: is for reduce and allreduce" choose broadcast --ranks 4 --arrivals 1,2,3,4 --network torus:4,10,20
refuses "--arrivals: there are times of 2 ranks, not of 3" choose reduce --ranks 3 --arrivals 1,2 --network torus:3,10
refuses "--table: does not go with --network" choose reduce --ranks 3 --table none --network torus:3,10

# On meshes, too.
run 0 choose allreduce --ranks 64 --bytes 32M --network mesh:8x8,50,200,hop=50
prints "33554432 bytes: bucket{.extents = {8, 8}}, "
run 0 map allreduce --ranks 16 --bytes 1M --network mesh:4x4,50,200,hop=50
prints "swing"

refuses "--arrivals: is for reduce and allreduce" choose broadcast --ranks 2 --arrivals 1,2
refuses "--arrivals: there are times of 2 ranks, not of 3" choose reduce --ranks 3 --arrivals 1,2

# Which way messages go, as ranks over a transport here say.
run 0 choose allreduce --ranks 4 --bytes 8,1M --transport in_process
matches "^  [0-9]+ messages of 8 bytes to combine: in the line of the envelope, as all up to 88 bytes"
matches "^  [0-9]+ messages of [0-9]+ (to [0-9]+ )?bytes to combine: in place, as all from 2049 bytes on"
matches "^  [0-9]+ messages of [0-9]+ (to [0-9]+ )?bytes: read directly, as all from 2049 bytes on"
prints "costs: those that in_process states"
run 0 choose broadcast --ranks 4 --bytes 1K --transport in_process # of all ranks, not of one: the root gets none
prints "  3 messages of 1024 bytes: copied, as all of 89 to 2048 bytes"
run 0 choose allreduce --ranks 4 --bytes 8 --transport in_process --model 1000,0,0
prints "model: alpha 1.00 us"
prints "in the line of the envelope"
run 0 choose barrier --ranks 1 --transport in_process
prints "barrier over 1 rank"
json choose allreduce --ranks 4 --bytes 8 --transport in_process --json
prints '"transport": "in_process"'
prints '"way": "in the line of the envelope"'
prints '"to_bytes": 88'
run 0 choose allreduce --ranks 4 --bytes 8
prints_not "in the line of the envelope"
refuses "--transport: there is no 'pigeon'; known are in_process, shared_memory, tcp, composite, fabric, verbs, mpi" choose allreduce --ranks 4 --transport pigeon
refuses "--ranks: needs a number from 1 to 256, not '257'" choose allreduce --ranks 257 --transport in_process
refuses "--network: does not go with --transport" choose allreduce --ranks 4 --transport tcp --network crossbar:4,1
refuses "--arrivals: goes with --model, where --transport is given" choose reduce --ranks 2 --transport in_process --arrivals 1,2
refuses "--nodes: goes with composite" choose allreduce --ranks 4 --nodes 2
refuses "--nodes: goes with composite" choose allreduce --ranks 4 --transport tcp --nodes 2
for transport in shared_memory tcp composite fabric; do
    "$bough" run barrier --ranks 2 --transport $transport --iterations 1 2>&1 | grep -q "was built without" && continue
    run 0 choose allreduce --ranks 3 --bytes 8,1M --transport $transport
    matches "^  [0-9]+ messages of 8 bytes.*: (in the line of the envelope, as all up to 88|copied, as all up to [0-9]+) bytes"
    matches "^  [0-9]+ messages of [0-9]+ (to [0-9]+ )?bytes.*: (read directly|staged|written to its place|copied), as all "
    prints "costs: those that $transport states"
    lines 2 "^allreduce over 3 ranks" # one rank speaks
    refuses "--root: needs a number from 0 to 2, not '3'" choose reduce --ranks 3 --transport $transport --root 3
done
if "$bough" run barrier --ranks 2 --transport composite --iterations 1 >/dev/null 2>&1; then
    run 0 choose allreduce --ranks 6 --bytes 1M --transport composite --nodes 2
    prints "lanes{"
    prints ", from far ranks: staged, as all from 16385 bytes on"
    prints "costs: those that composite states, for near ranks and for far ones"
    refuses "--nodes: needs a number from 1 to 3, not '4'" choose reduce --ranks 3 --transport composite --nodes 4
fi
