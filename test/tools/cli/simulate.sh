#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough simulate.
. "${0%/*}/expect.sh"

run 0 simulate reduce fnomial --degree 4 --ranks 64 --model table2
prints "reduce by tree_reduce{fnomial{.degree = 4}} over 64 ranks"
prints "root ends         32.8 us" # 9.20 + 3 (2.10 + 3 * 1.92)
run 0 simulate reduce binomial --ranks 1048576 --model lrc:2.1us,0.42us,1.5us,9.2us
prints "messages          1048575, 8388600 bytes"
json simulate allreduce recursive_doubling --ranks 8 --model table2 --json # 9.20 + 3 * 4.02
prints '"makespan_ns": 21260.0,'
json simulate allreduce ring --ranks 16 --bytes 64K --network fat_tree:4,2,1 --slots 2 --eager 1K --order dependence --json
prints '"messages": 480'
for net in crossbar:8,1 torus:2x4,0.5 dragonfly:2,2,1,1 irregular:8,4,8,50,1; do
    run 0 simulate broadcast binomial --ranks 8 --bytes 4K --model lrc:1us,0,0 --network "$net"
done
run 0 simulate broadcast packed_trees --ranks 6 --bytes 64M --blocks 128 --model lrc:1us,0,0 --network torus:6,10,20
prints "broadcast by packed_trees_broadcast{2 trees} over 6 ranks, root 0, 128 blocks"
prints "93 % of what this network can do: no plan takes less than 3.36 ms"
run 0 simulate allreduce ring --ranks 4 --bytes 1M --model lrc:1us,0,0 --network torus:4,10,20
prints "busiest link      switch 0 to switch 1: 1572864 bytes, 157 us by itself"
run 0 simulate allreduce ring --ranks 3 --bytes 1M --model lrc:1us,0,0 --network crossbar:1,10
prints "busiest link      none carries anything"
json simulate allreduce ring --ranks 4 --bytes 1M --model lrc:1us,0,0 --network torus:4,10,20 --json
prints '"busiest_ns": 157286.4'
prints '"from":"host 3"'
run 0 simulate reduce_scatter packed_trees --ranks 4 --bytes 64M --model lrc:1us,0,0 --network torus:4,10,20
prints "reduce_scatter by packed_trees_reduce_scatter{24 trees} over 4 ranks, root 0, 192 blocks"
prints "% of what this network can do: no plan takes less than "
run 0 simulate reduce binomial --ranks 4 --skew given:0,5us,0,1us --model lrc:1us,0,0 --format csv --per-rank
prints "1,1,5000,5000,0,0,0"
prints "1,0,0,6000,0,6000,0"
run 0 simulate reduce binomial --ranks 32 --skew uniform:1ms --split 0,5us --order dependence --runs 30 --measure lost
prints "time in us spent on steps and waiting, per rank; seeds 1 to 30"
prints "deviation"
[ "$(grep -c '#' "$scratch/out")" -ge 5 ] || fail "no histogram"
noisy="simulate reduce fnomial --degree 4 --ranks 900 --model table2 --daemon 10ms,50us --interrupt 1ms,0,10us,500 --slow 1.5,10 --runs 3 --format csv"
run 0 $noisy
lines 4
keep once
run 0 $noisy
cmp -s "$scratch/once" "$scratch/out" || fail "not the same twice"
run 0 $noisy --seed 2
[ "$(sed -n 3p "$scratch/once")" = "$(sed -n 2p "$scratch/out")" ] || fail "the seed is not that of the run"
run 0 $noisy --mode nic --after-entry --measure root --drop 1 --histogram 3
for model in rdma loggops:1us,100,200ns,0.1,0 2000,0.1,0.05; do run 0 simulate allreduce ring --ranks 5 --bytes 1K --model "$model" --operations 3 --compute 1us; done

refuses "--model: needs a file, or three costs" simulate reduce binomial --ranks 4 --model 1,2
refuses "--model: needs lrc:L,r,c" simulate reduce binomial --ranks 4 --model lrc:1
refuses "--model: message_latency_ns" simulate reduce binomial --ranks 4 --model loggops:1,1,5
refuses "--skew: there is no 'late'; known are uniform" simulate reduce binomial --ranks 4 --skew late:3
refuses "--skew: needs a time as 300, 1.5us" simulate reduce binomial --ranks 4 --skew uniform:3days
refuses "--skew: this must hold: one time per rank" simulate reduce binomial --ranks 4 --skew given:1,2
refuses "--daemon: needs PERIOD,DURATION" simulate reduce binomial --ranks 4 --daemon 5
refuses "--daemon: this must hold: a period is longer" simulate reduce binomial --ranks 4 --daemon 5,5
refuses "--interrupt: this must hold: a window is longer" simulate reduce binomial --ranks 4 --interrupt 5,1,5
refuses "--slow: this must hold: a factor is above 0" simulate reduce binomial --ranks 4 --slow 0,1
refuses "--bytes: one size is needed" simulate reduce binomial --ranks 4 --bytes 8,16
refuses "--mode: there is no 'both'" simulate reduce binomial --ranks 4 --mode both
refuses "--measure: there is no 'first'" simulate reduce binomial --ranks 4 --measure first
refuses "--network: there is no 'star'" simulate reduce binomial --ranks 4 --network star:4,1
refuses "--network: at most 4096 hosts" simulate reduce binomial --ranks 4 --network fat_tree:64,4,1
refuses "--network: each switch needs a port" simulate reduce binomial --ranks 4 --network irregular:64,4,8,50,1
refuses "--ranks: at most 4194304" simulate reduce binomial --ranks 5000000 --order dependence
refuses "--order: there is no 'random'" simulate reduce binomial --ranks 4 --order random
refuses "--split: needs POLL,COST" simulate reduce binomial --ranks 4 --split 3
