#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough export and bough import.
. "${0%/*}/expect.sh"

for format in goal csv; do
    run 0 export barrier dissemination --ranks 4 --format $format
    prints_not 4096
done

file=$scratch/file

# verified FORMAT COLLECTIVE ALGORITHM RANKS...: exported, read back and proved; `changed SED_SCRIPT LINE`: then refused on it.
verified() {
    local format=$1
    shift
    run 0 export "$@" --format "$format" $([ "$format" = goal ] && echo --annotate)
    keep file
    run 0 import "$file" --verify
    prints "proved      data: every contribution reaches every result"
    json import "$file" --verify --json
    prints '"right": true'
}
changed() {
    sed "$1" "$file" >"$file.changed"
    ! cmp -s "$file" "$file.changed" || fail "sed '$1' changes nothing"
    run 1 import "$file.changed" --verify
    matches "WRONG: line $2[,:] "
}
for ranks in 1 2 7 8; do
    for algorithm in ring recursive_doubling halving_doubling; do
        verified goal allreduce $algorithm --ranks $ranks --bytes 1K
    done
    verified goal reduce binomial --ranks $ranks --root $((ranks / 2)) --blocks 3
    verified goal scan recursive_doubling --ranks $ranks
done
verified goal alltoall pairwise --ranks 5 --bytes 1K
for collective in broadcast reduce allreduce allgather reduce_scatter; do
    verified goal $collective packed_trees --ranks 6 --network torus:3x2,10,30 --bytes 4K
done
verified goal allreduce recursive_doubling --ranks 3 --bytes 8
changed 's/^l2: send 8b to 2 tag 0/l2: send 7b to 2 tag 0/' 39
changed 's/^l2 requires l1/l2 requires l0/' 10
changed 's/op(output\[0..1), scratch0/op(scratch0[0..1), scratch0/' 14
changed 's/^l0: recv/l0: recieve/' 6
run 0 export allreduce ring --ranks 4 --bytes 1K
prints_not "//bough"
prints "num_ranks 4"
keep file
run 0 import "$file"
prints "GOAL, 4 ranks"
prints "--verify proves it"
json import "$file" --json
matches '"verified": ?false'
prints_not '"right"'
run 0 import "$file" --verify
prints "proved      matching: each of 24 messages meets one receive of its size"
prints "NOT proved  data: GOAL says how many bytes are sent, not which"
if "$bough" export allreduce ring --ranks 2 --format msccl | "$bough" import /dev/stdin --verify | grep -q "without pugixml"; then
    echo "not tested: reading MSCCL XML, built without pugixml"
else
    for ranks in 1 2 7 8; do
        verified msccl allreduce ring --ranks $ranks
        verified msccl allreduce halving_doubling --ranks $ranks
        verified msccl allgather circulant --ranks $ranks
        verified msccl reduce_scatter lowest_bit_first --ranks $ranks
        verified msccl alltoall pairwise --ranks $ranks
    done
    for collective in allreduce allgather reduce_scatter; do
        verified msccl $collective packed_trees --ranks 4 --network torus:4,10,20
    done
    verified msccl allreduce ring --ranks 3
    changed '10s/ type="rrc" srcbuf="i"/ type="r" srcbuf="i"/' 13
    changed '5s/ cnt="1"/ cnt="2"/' 25
    changed '5s/ depid="1"/ depid="7"/' 5
    changed '5s/ depid="1" deps="0"/ depid="-1" deps="-1"/' 5
    changed '10s/ hasdep="1"/ hasdep="0"/' 5
    changed '6s/ srcoff="0"/ srcoff="three"/' 6
    changed 's/ coll="allreduce"/ coll="allreduce" inplace=1/' 1
fi
printf '<algo coll="custom" ngpus="2"/>\n' >"$file"
run 1 import "$file"

refuses "MSCCL XML: there is no reduce; it has allreduce" export reduce binomial --ranks 4 --format msccl
refuses "--annotate: only GOAL needs it" export reduce binomial --ranks 4 --format csv --annotate
refuses "FILE: '$scratch/none' cannot be opened" import "$scratch/none"
refuses "FILE: '$scratch' cannot be read, or is empty" import "$scratch"

run 0 export reduce binomial --ranks 4 --format csv
prints "0,1,combine,,0,input,0,1,scratch0,0,1,output,0,1,4096,0,"
run 0 export reduce binomial --ranks 4 --format dot
prints "digraph plan {"
run 0 export reduce binomial --ranks 4 --format svg
prints "</svg>"
json export reduce binomial --ranks 4 --format trace
run 0 export allreduce recursive_doubling --ranks 16384 # rank by rank
lines 16384 '^rank '
