#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Files of costs, which several commands read.
. "${0%/*}/expect.sh"

cat >"$scratch/cluster.json" <<'END'
{"ranks":3,"costs":{"send":[1000,{"base_ns":2000,"per_byte_ns":0.5},3000],"receive":[1,2,3],"latency":10},
 "groups":[{"name":"fast","ranks":[0]}]}
END
run 0 tree fnf --cluster "$scratch/cluster.json" --bytes 1K

# A model like any other: rank 2 has the message after two sends of rank 0, its latency and its receive.
run 0 simulate broadcast flat --ranks 3 --model "$scratch/cluster.json"
prints "costs of 3 ranks"
prints "last rank ends    2.01 us"
run 0 choose broadcast --ranks 3 --bytes 8 --model "$scratch/cluster.json"
prints "model: costs of 3 ranks"
run 0 map broadcast --ranks 2..3 --bytes 8..16 --model "$scratch/cluster.json"

# One rank at half the speed.
alike='{"base_ns":1000,"per_byte_ns":0.04}'
printf '{"ranks":8,"costs":{"send":[%s,%s,%s,{"base_ns":1000,"per_byte_ns":0.08},%s,%s,%s,%s]}}' \
    "$alike" "$alike" "$alike" "$alike" "$alike" "$alike" "$alike" >"$scratch/slow.json"
run 0 choose allreduce --ranks 8 --bytes 64M --model "$scratch/slow.json"
prints "67108864 bytes: slow_rank{.slow = 3} in "
run 0 map allreduce --ranks 8 --bytes 64M --model "$scratch/slow.json"
prints "slow_rank"
run 0 choose allreduce --ranks 8 --bytes 64M --model "$scratch/slow.json" --network crossbar:8,1000
prints "67108864 bytes: slow_rank{.slow = 3} in "

refuses "--model: has costs of 3 ranks only" choose broadcast --ranks 4 --bytes 8 --model "$scratch/cluster.json"
refuses "--model: has costs of 3 ranks only" simulate broadcast flat --ranks 4 --model "$scratch/cluster.json"

run 0 compare --cluster "$scratch/cluster.json" --bytes 8,64K
prints "    64K"
refuses_cluster() {
    printf '%s' "$2" >"$scratch/bad.json"
    refuses "--cluster: file '$scratch/bad.json': $1" compare --cluster "$scratch/bad.json"
}
refuses_cluster "it is not an object" '[]'
refuses_cluster "ranks is missing" '{"costs":{}}'
refuses_cluster "ranks must be a whole number" '{"ranks":0,"costs":{"send":[]}}'
refuses_cluster "costs is not an object" '{"ranks":2,"costs":[1,2]}'
refuses_cluster "costs.send is missing" '{"ranks":2,"costs":{}}'
refuses_cluster "costs.send must list as many costs as there are ranks, 2" '{"ranks":2,"costs":{"send":[1]}}'
refuses_cluster "costs.send[1] must be a number, not negative" '{"ranks":2,"costs":{"send":[1,-2]}}'
refuses_cluster "costs.send[0].base_ns is missing" '{"ranks":2,"costs":{"send":[{},1]}}'
refuses_cluster "costs.send[0].bytes is not known" '{"ranks":2,"costs":{"send":[{"base_ns":1,"bytes":2},1]}}'
refuses_cluster "costs.recieve is not a cost" '{"ranks":2,"costs":{"send":[1,2],"recieve":[1,2]}}'
refuses_cluster "groups[0].ranks[1] must be a whole number from 0 to 1" \
    '{"ranks":2,"costs":{"send":[1,2]},"groups":[{"name":"a","ranks":[0,2]}]}'
refuses_cluster "groups[1].ranks[0] is in a group already" \
    '{"ranks":2,"costs":{"send":[1,2]},"groups":[{"name":"a","ranks":[0]},{"name":"b","ranks":[0]}]}'
