#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough verify.
. "${0%/*}/expect.sh"

run 0 verify allreduce recursive_doubling --ranks 13
prints "13 ranks, root 0, 1 block: proved"
matches '^  rounds +5 '
for shape in binomial binomial_high fnomial degree_k kary chain flat bine; do
    run 0 verify reduce "$shape" --ranks 1..20 --blocks 2
    prints "proved for each of 20 sizes"
    run 0 verify allreduce "$shape" --ranks 7 --root 3
    run 0 verify broadcast "$shape" --ranks 7 --root 3
    run 0 verify barrier "$shape" --ranks 7
done
run 0 verify reduce fnomial --ranks 9 --root 4
matches '^  needs_commutative +yes '
run 0 verify reduce fnomial --ranks 9 --root 4 --ordered
matches '^  needs_commutative +no '
run 0 verify barrier dissemination --ranks 1..64
json verify reduce chain --ranks 1..3 --json
prints '"right": true'
refuses "--ranks: the range '5..3' ends before it begins" verify reduce flat --ranks 5..3
refuses "--ranks: needs a whole number, not ''" verify reduce flat --ranks 5..
refuses "--ranks: that is too much to write out or to prove" verify reduce flat --ranks 1..99999999
refuses "--root: there is no rank 2 among 1 rank" verify reduce flat --ranks 1..4 --root 2
refuses "COLLECTIVE is required" verify

# A file: what schedule wrote is right, and each change of it is found.
json schedule allreduce fnomial --ranks 7 --blocks 2 --json
keep good.json
good=$scratch/good.json
bad=$scratch/bad.json
edit() { sed "$1" "$good" >"$bad"; }
run 0 verify --schedule "$good"
prints "proved"

edit 's/"peer": *1\b/"peer":2/'
run 1 verify --schedule "$bad"
prints "no send for this receive"
run 1 verify --schedule "$bad" --json
prints '"name":"unmatched_receive"'

edit 's/"first": *1\b/"first":77/'
run 1 verify --schedule "$bad"
prints "leaves the vector"

edit 's/"buffer": *"output"/"buffer":"input"/g'
run 1 verify --schedule "$bad"

edit 's/"peer": *1\b/"peer":4294967294/'
run 1 verify --schedule "$bad"
prints "4294967294 is not a rank of the group"

edit 's/"peer": *1\b/"peer":4294967295/'
refuses "--schedule: file '$bad': \"peer\" is not a number from 0 to 4294967294" verify --schedule "$bad"

edit 's/"send"/"shout"/'
refuses "--schedule: file '$bad': there is no verb 'shout'" verify --schedule "$bad"

for plane in 99999999 99999999999 -1 1x; do
    edit "s/\"scratch1\"/\"scratch$plane\"/"
    refuses "--schedule: file '$bad': there is no buffer 'scratch$plane': the planes are scratch0 to" verify --schedule "$bad"
done

edit 's/"allreduce"/"pigeon"/'
refuses "--schedule: file '$bad': there is no collective 'pigeon'" verify --schedule "$bad"

edit 's/"size": *7/"size":8/'
refuses "--schedule: file '$bad': \"ranks\" does not list every rank" verify --schedule "$bad"

edit 's/"size": *7/"size":-7/'
refuses "--schedule: file '$bad': \"size\" is not a number from" verify --schedule "$bad"

head -c 500 "$good" >"$bad"
refuses "--schedule: file '$bad': is not JSON" verify --schedule "$bad"

echo '[1, 2]' >"$bad"
refuses "--schedule: file '$bad': lacks \"collective\"" verify --schedule "$bad"

refuses "--schedule: file '$scratch/none': cannot be opened" verify --schedule "$scratch/none"
refuses "--schedule: file '$scratch': cannot be" verify --schedule "$scratch"
refuses "--schedule: the file says what it is" verify reduce flat --ranks 3 --schedule "$good"

for collective in broadcast reduce allreduce allgather reduce_scatter; do
    run 0 verify $collective packed_trees --ranks 6 --network torus:3x2,10,30
    prints "$collective by packed_trees_$collective{"
    prints ": proved"
done
run 0 verify reduce packed_trees --ranks 3 --root 2 --network crossbar:4,10 # on some of its hosts
for collective in allreduce allgather; do # an allgather with several blocks of each rank
    json schedule $collective packed_trees --ranks 4 --network torus:4,10,20 --json
    cp "$scratch/out" "$good"
    run 0 verify --schedule "$good"
    prints ": proved"
done
refuses "--blocks: packed_trees_allgather{24 trees} refuses: blocks: must be a multiple of the number of ranks" verify allgather packed_trees --ranks 4 --blocks 6 --network torus:4,10,20
refuses "ALGORITHM: packed_trees needs a --network, for which its trees are packed" verify reduce packed_trees --ranks 4
refuses "ALGORITHM: scan has no 'packed_trees'" verify scan packed_trees --ranks 4 --network torus:4,10,20
refuses "--network: goes with packed_trees" verify reduce ring --ranks 4 --network torus:4,10,20
refuses "--ranks: one number for packed_trees, since its trees are made for that" verify reduce packed_trees --ranks 2..4 --network torus:4,10,20
refuses "--ranks: packed_trees searches for at most 16 ranks" verify reduce packed_trees --ranks 17 --network crossbar:32,1
refuses "--degree: packed_trees has trees that fit the network: there is nothing to choose" verify reduce packed_trees --ranks 4 --degree 2 --network torus:4,10,20
refuses "--root: " verify reduce packed_trees --ranks 4 --root 4 --network torus:4,10,20
