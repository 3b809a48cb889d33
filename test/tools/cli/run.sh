#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough run.
. "${0%/*}/expect.sh"

run 0 run allreduce --ranks 4 --bytes 8,4K,64K --iterations 5
prints "right: $((4 * 5 * (1 + 512 + 8192))) elements"
run 0 run reduce --ranks 5 --root 3 --bytes 0,24 --iterations 5 --algorithm all --op min --type i32
prints_not "recursive_doubling"
prints "fnomial{.degree = 8}"
run 0 run broadcast --ranks 5 --root 4 --bytes 1K --iterations 5 --algorithm fnomial --degree 3
prints "fnomial{.degree = 3}"
run 0 run barrier --ranks 3 --iterations 5 --algorithm all
prints "dissemination"
run 0 run allreduce --ranks 1 --bytes 8 --iterations 5 --op multiplies --type f32
json run allreduce --ranks 3 --bytes 128K --iterations 3 --json # longer than what costs were measured for
prints '"predicted_ns": null'
json run allreduce --ranks 3 --bytes 64K --iterations 3 --json
prints_not '"predicted_ns": null'
json run allreduce --ranks 3 --bytes 8 --iterations 5 --op bit_xor --type u64 --algorithm recursive_doubling --json
prints '"right": true'
for collective in gather scatter reduce_scatter allgather scan exscan alltoall; do
    run 0 run "$collective" --ranks 3 --bytes 72,7200 --iterations 5 --algorithm all
    prints "right: "
done
run 0 run alltoall --ranks 4 --bytes 1K --iterations 5 --algorithm pairwise
prints "right: $((4 * 5 * 1024 / 8 / 4)) elements"
for collective in broadcast reduce allreduce allgather reduce_scatter; do
    run 0 run "$collective" --ranks 4 --bytes 72,7200 --iterations 3 --algorithm packed_trees --network torus:4,10,20
    prints "packed_trees_$collective{"
    prints "right: "
done

# auto takes what choose takes by the same costs. Three sends of the root are the fastest alone. In a loop of calls it
# is better if another rank passes the message on.
printf '{"ranks":4,"costs":{"send":[1e6,1e6,1e6,1e6],"receive":[1,1,1,1],"latency":1.5e6}}' >"$scratch/sends.json"
run 0 choose broadcast --ranks 4 --bytes 8 --model "$scratch/sends.json"
prints "it is near the fastest, and better in a loop of calls"
chosen=$(sed -n 's/^broadcast over 4 ranks, 8 bytes: \(.*\), [0-9.]* ms$/\1/p' "$scratch/out")
[ -n "$chosen" ] || fail "names no algorithm"
for auto in "" "--algorithm auto"; do # it is the default
    run 0 run broadcast --ranks 4 --bytes 8 --iterations 2 --emulate "$scratch/sends.json" $auto
    prints "; the algorithm that the model prefers"
    prints "       8  $chosen "
    lines 1 '^ +[0-9]+  '
    prints "right: 6 elements"
done

# Ranks that come at given times: what is timed and predicted begins when the last one has come.
run 0 run broadcast --ranks 3 --bytes 8 --algorithm flat --iterations 2 --emulate send=1ms --arrivals 300ms,0,0
prints "from when the last rank has come"
matches " 2000$" # two sends of the root
for transport in in_process shared_memory tcp; do
    "$bough" run barrier --ranks 2 --transport $transport --iterations 1 >/dev/null 2>&1 || continue
    json run allreduce --ranks 4 --bytes 4K --iterations 3 --transport $transport --arrivals 0,0,400ms,0 \
        --algorithm late_rank --root 2 --blocks 4 --json
    prints '"right": true'
    prints '"arrivals_ns": [0,0,400000000,0]'
    awk -F'[:,]' '/"min_ns"/ { seen = 1; if ($2 >= 400e6) exit 1 } END { exit !seen }' "$scratch/out" ||
        fail "counts the time before the last rank comes"
done
run 0 run allreduce --ranks 3 --bytes 64K --iterations 2 --arrivals 0,0,1ms
prints "right: "
refuses "--arrivals: there are times of 2 ranks, not of 3" run reduce --ranks 3 --arrivals 0,1ms
refuses "--arrivals: a rank comes a minute after the others at most" run reduce --ranks 2 --arrivals 0,61s
refuses "--blocks: goes with one algorithm, not with auto" run reduce --ranks 3 --blocks 4
refuses "--blocks: slow_rank refuses: blocks: must be a multiple" run allreduce --ranks 4 --algorithm slow_rank --blocks 4

refuses "--network: goes with packed_trees" run reduce --ranks 4 --network torus:4,10,20
refuses "--network: goes with packed_trees" run reduce --ranks 4 --algorithm ring --network torus:4,10,20
refuses "--algorithm: packed_trees needs a --network" run reduce --ranks 4 --algorithm packed_trees
refuses "--algorithm: scan has no 'packed_trees'" run scan --ranks 4 --algorithm packed_trees --network torus:4,10,20
refuses "COLLECTIVE: there is no 'scatterv'" run scatterv --ranks 3
refuses "--algorithm: reduce has no 'oak'" run reduce --ranks 3 --algorithm oak
refuses "--ranks: needs a number from 1 to" run reduce --ranks 0
refuses "--ranks: needs a number from 1 to" run reduce --ranks 100000
refuses "--root: needs a number from 0 to 2" run reduce --ranks 3 --root 3
refuses "--bytes: needs a whole number, not 'big'" run reduce --ranks 3 --bytes big
refuses "--bytes: needs a whole number, not ''" run reduce --ranks 3 --bytes 8,,8
refuses "--bytes: needs a number from 0 to" run reduce --ranks 3 --bytes 99999999999999G
refuses "--bytes: 12 bytes are no whole number of f64" run reduce --ranks 3 --bytes 12
refuses "--bytes: 64G on each of 3 ranks is too much" run reduce --ranks 3 --bytes 64G
refuses "--op: there is no 'divides'; known are plus" run reduce --ranks 3 --op divides
refuses "--op: bit_or makes no sense on f64" run reduce --ranks 3 --op bit_or
refuses "--type: there is no 'f16'; known are f64" run reduce --ranks 3 --type f16
refuses "--degree: goes with one algorithm, not with auto" run reduce --ranks 3 --degree 3
refuses "--transport: there is no 'pigeon'; known are in_process, shared_memory, tcp, composite, fabric, verbs, mpi" run reduce --ranks 3 --transport pigeon
refuses "--ranks is required" run reduce
refuses "--ranks is required" run reduce --transport shared_memory
refuses "--launch: there is no 'ssh'; known are local, pmix, environment" run reduce --ranks 3 --launch ssh
refuses "--launch: pmix goes with shared_memory, tcp, composite, fabric and verbs" run reduce --ranks 3 --launch pmix
refuses "--launch: environment goes with shared_memory, tcp, composite, fabric and verbs" run reduce --launch environment
refuses "--emulate: goes with in_process" run reduce --ranks 3 --transport tcp --emulate latency=1us
refuses "--algorithm: reduce has no 'oak'" run reduce --ranks 3 --transport shared_memory --algorithm oak
refuses "--nodes: goes with composite" run reduce --ranks 3 --transport tcp --nodes 2
refuses "--provider: goes with fabric" run reduce --ranks 3 --transport tcp --provider shm
refuses "--device: goes with verbs" run reduce --ranks 3 --transport tcp --device rxe0
refuses "--tls: goes with tcp" run reduce --ranks 3 --transport shared_memory --tls a b c
refuses "--tcp-only: goes with tcp" run reduce --ranks 3 --transport shared_memory --tcp-only

for transport in shared_memory tcp composite fabric; do
    "$bough" run barrier --ranks 2 --transport $transport --iterations 1 2>&1 | grep -q "was built without" && continue
    for ranks in 1 2 5; do
        run 0 run allreduce --ranks $ranks --transport $transport --bytes 8,64K --iterations 7
        prints ", $transport: processes on "
        prints "$([ $ranks -lt 3 ] && echo "is the best for assumed costs" || echo "the model prefers")"
        prints "right: $((7 * (1 + 8192) * ranks)) elements"
    done
    run 0 run reduce_scatter --ranks 3 --transport $transport --bytes 72,65544 --iterations 3 --algorithm packed_trees \
        --network torus:3,10,20
    prints "right: "
    run 0 run scan --ranks 3 --transport $transport --bytes 64 --iterations 5 --algorithm all --op max --type i32
    prints "right: "
    json run broadcast --ranks 3 --transport $transport --bytes 8 --iterations 5 --root 2 --json
    prints "\"transport\": \"$transport\""
done
if "$bough" run barrier --ranks 2 --transport tcp --tcp-only --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 3 --transport tcp --tcp-only --bytes 8,64K --iterations 3
    prints "right: "
fi

# A script has started the ranks.
if "$bough" run barrier --ranks 2 --transport tcp --iterations 1 >/dev/null 2>&1; then
    export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000))
    for rank in 1 2; do
        RANK=$rank "$bough" run allreduce --transport tcp --launch environment --bytes 8,64K --iterations 3 &
    done
    RANK=0 run 0 run allreduce --transport tcp --launch environment --bytes 8,64K --iterations 3
    prints "over 3 ranks"
    prints "right: "
    wait
    RANK=3 refuses "--launch: RANK: it is 3, and must be below WORLD_SIZE, which is 3" run allreduce --transport tcp --launch environment
    RANK=one refuses "--launch: RANK: must be a number below WORLD_SIZE" run allreduce --transport tcp --launch environment
    unset WORLD_SIZE MASTER_ADDR MASTER_PORT
fi
refuses "--launch: RANK: is not set, and neither is WORLD_SIZE" run allreduce --transport tcp --launch environment

# A certificate that vouches for itself, and one that it does not vouch for.
for name in one other; do
    openssl req -x509 -newkey ed25519 -nodes -subj "/CN=$name" -days 1 -keyout "$scratch/$name.key" \
        -out "$scratch/$name.pem" >/dev/null 2>&1 || :
done
if ! [ -s "$scratch/other.pem" ]; then
    echo "not tested: run --tls, without openssl(1)"
elif "$bough" run barrier --ranks 2 --transport tcp --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/one.pem" 2>&1 |
    grep -q "was built without"; then
    echo "not tested: run --tls, which this bough was built without"
else
    run 0 run allreduce --ranks 3 --transport tcp --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/one.pem" \
        --bytes 8,64K --iterations 3
    prints "right: "
    refuses "--tls: tls.certificate: tls.authorities do not vouch for it now" run reduce --ranks 2 --transport tcp \
        --tls "$scratch/one.pem" "$scratch/one.key" "$scratch/other.pem"
fi

# Where there is a card it works; otherwise the reason is one line.
if ! "$bough" run barrier --ranks 2 --transport verbs --iterations 1 >"$scratch/out" 2>"$scratch/err"; then
    command_line="bough run barrier --transport verbs"
    grep -q "^bough: --transport: \(verbs needs an RDMA card\|this bough was built without verbs\)" "$scratch/err" ||
        fail "does not say what verbs needs"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "said more than a line"
fi
if "$bough" run barrier --ranks 2 --transport composite --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 5 --transport composite --nodes 2 --bytes 8,64K --iterations 3
    prints "right: $((3 * (1 + 8192) * 5)) elements"
    refuses "--nodes: needs a number from 1 to 3, not '4'" run reduce --ranks 3 --transport composite --nodes 4
fi
if "$bough" run barrier --ranks 2 --transport fabric --iterations 1 >/dev/null 2>&1; then
    run 0 run allreduce --ranks 3 --transport fabric --provider shm --bytes 8,64K --iterations 3
    prints "right: $((3 * (1 + 8192) * 3)) elements"
    refuses "--provider: libfabric has none of that name here" run reduce --ranks 2 --transport fabric --provider pigeon
    refuses "--provider: none that libfabric has here does what is needed" tune one_sided --transport fabric --provider pigeon
fi

refuses "--iterations: needs a whole number" run reduce --ranks 3 --iterations lots
