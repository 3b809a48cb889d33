#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# --neighbours, of the commands that take collectives of a neighbourhood.
. "${0%/*}/expect.sh"

# 27 points in 6 messages instead of 26, for twice the data.
run 0 verify neighbour_alltoall by_dimension --neighbours box:4x4x4
prints "over 64 ranks, neighbours box:4x4x4, 1664 blocks: proved"
matches '^  rounds +6 '
matches '^  messages +384 '
matches '^  volume +3456 '
run 0 verify neighbour_alltoall direct_neighbours --neighbours box:4x4x4 --ranks 64
matches '^  rounds +26 '
matches '^  volume +1664 '
run 0 verify neighbour_alltoall direct_neighbours --neighbours box:4x4x4,ends
matches '^  messages +936 ' # 26 neighbours of the 8 ranks inside, 17 of 24, 11 of 24, 7 of 8
run 0 verify neighbour_allgather by_dimension --neighbours star:8x3,2
matches '^  messages +144 ' # 6 a rank: in the short dimension 2 further is 1 back
run 0 verify neighbour_allgather direct_neighbours --neighbours star:1
prints "over 1 rank, neighbours star:1"

run 0 choose neighbour_alltoall --neighbours box:4x4x4 --bytes 13K,13M
prints "13312 bytes: neighbour_alltoall_by_dimension"
prints "13631488 bytes: direct_neighbour_alltoall"
json choose neighbour_allgather --neighbours star:4x4 --ranks 16 --json
prints '"neighbours": "star:4x4"'
run 0 simulate neighbour_alltoall by_dimension --neighbours box:4x4x4 --bytes 13K --network torus:4x4x4,1,6
prints "% of what this network can do: no plan takes less than "
matches '^  messages +384, 27648 bytes'
run 0 choose neighbour_alltoall --neighbours box:4x4x4 --bytes 13K,13M --network torus:4x4x4,1,6
prints "13312 bytes: neighbour_alltoall_by_dimension"
lines 2 "of what this network can do: no plan takes less than "
prints "neighbours: box:4x4x4"
prints "network: torus:4x4x4,1,6; lrc:1us,0,0"
json choose neighbour_allgather --neighbours star:4x4 --network torus:4x4,1,4 --json
prints '"neighbours": "star:4x4"'
prints '"share_of_bound"'
refuses "--arrivals: does not go with --neighbours" choose neighbour_alltoall --neighbours star:4 --arrivals 0,0,0,0
refuses "--ranks: the network has 4 hosts" choose neighbour_alltoall --neighbours star:8 --network torus:4,1
run 0 timeline neighbour_alltoall by_dimension --neighbours star:3x3
prints '<svg'
run 0 export neighbour_alltoall direct_neighbours --neighbours star:3x3 --format goal
lines 36 '^l[0-9]+: send'

# A graph, and back from what schedule wrote.
graph=$scratch/graph
printf '# who sends to whom\n0: 1 2\n1: 0 # back\n\n4:\n' >"$graph"
run 0 schedule neighbour_alltoall direct_neighbours --neighbours "$graph"
prints "over 5 ranks, neighbours a graph with 3 edges, 3 blocks"
prints "0  send    -> 1  input[0..1)"
json schedule neighbour_alltoall direct_neighbours --neighbours "$graph" --json
keep graph.json
run 0 verify --schedule "$scratch/graph.json"
prints "proved"
json schedule neighbour_allgather by_dimension --neighbours box:4x3,ends --json
keep grid.json
run 0 verify --schedule "$scratch/grid.json"
bad=$scratch/bad.json
edit() { sed "$2" "$scratch/$1" >"$bad"; }
edit grid.json 's/box:4x3,ends/box:4x3/'
run 1 verify --schedule "$bad" # other neighbours: something does not come
edit grid.json 's/box:4x3,ends/box:4x4/'
refuses "--schedule: file '$bad': \"neighbours\" is of another number of ranks" verify --schedule "$bad"
edit grid.json "s|box:4x3,ends|$graph|"
refuses "--schedule: file '$bad': \"neighbours\" is no grid" verify --schedule "$bad"
edit grid.json 's/box:4x3,ends/box:4x/'
refuses "--schedule: file '$bad': \"neighbours\": needs a whole number, not ''" verify --schedule "$bad"
edit grid.json 's/"box:4x3,ends"/[[12]]/'
refuses "--schedule: file '$bad': \"neighbours\": a destination is not a rank of the group: rank 0" \
    verify --schedule "$bad"
edit grid.json 's/"neighbours"/"others"/'
refuses "--schedule: file '$bad': lacks \"neighbours\"" verify --schedule "$bad"

refuses "--neighbours: neighbour_alltoall_by_dimension refuses: neighbours: a graph has no dimensions" \
    verify neighbour_alltoall by_dimension --neighbours "$graph"
refuses "--neighbours: neighbour_alltoall needs it" verify neighbour_alltoall direct_neighbours --ranks 4
refuses "--neighbours: neighbour_alltoall needs it" choose neighbour_alltoall
refuses "--neighbours: allreduce has none" verify allreduce ring --neighbours star:4 --ranks 4
refuses "--neighbours: allreduce has none" choose allreduce --neighbours star:4 --ranks 4
refuses "--neighbours: direct_neighbour_alltoall refuses: neighbours: the product of the extents" \
    verify neighbour_alltoall direct_neighbours --neighbours star:4x4 --ranks 15
refuses "--ranks: needs a whole number, not '1..16'" \
    verify neighbour_alltoall direct_neighbours --neighbours star:4x4 --ranks 1..16
refuses "--ranks: --neighbours are of 16 ranks, not of 15" choose neighbour_alltoall --neighbours star:4x4 --ranks 15
refuses "ALGORITHM: neighbour_alltoall has no 'ring'; known are direct_neighbours, by_dimension" \
    verify neighbour_alltoall ring --neighbours star:4
refuses "--degree: does not go with --neighbours" \
    verify neighbour_alltoall by_dimension --neighbours star:4 --degree 2
refuses "--table: does not go with --neighbours" choose neighbour_alltoall --neighbours star:4 --table none
refuses "--annotate: not for a collective with neighbours" \
    export neighbour_alltoall direct_neighbours --neighbours star:4 --annotate
refuses "COLLECTIVE: neighbour_alltoall is not for this command" run neighbour_alltoall --ranks 4
refuses "COLLECTIVE: neighbour_alltoall is not for this command" \
    nic neighbour_alltoall direct_neighbours --ranks 4 --neighbours star:4
refuses "COLLECTIVE: there is no 'neighbours'; known are reduce" verify neighbours ring --ranks 4
refuses "--ranks is required" schedule allreduce ring
refuses "--ranks is required" choose allreduce

refuses "--neighbours: '$scratch' is a directory" \
    schedule neighbour_alltoall direct_neighbours --neighbours "$scratch"
refuses "--neighbours: file 'none': cannot be opened; a grid is written as star:8x8 or box:4x4x4" \
    schedule neighbour_alltoall direct_neighbours --neighbours none
refuses "--neighbours: needs a whole number, not ''" schedule neighbour_alltoall direct_neighbours --neighbours box:4x
refuses "--neighbours: needs a whole number, not 'end'" \
    schedule neighbour_alltoall direct_neighbours --neighbours box:4,end
refuses "--neighbours: at most 4194304 neighbours" \
    schedule neighbour_alltoall direct_neighbours --neighbours box:4x4,9999
refuses "--neighbours: at most 6 dimensions" \
    schedule neighbour_alltoall direct_neighbours --neighbours star:1x1x1x1x1x1x1
wrong() { # wrong SENTENCE TEXT: a graph of this text
    printf "$2" >"$graph"
    refuses "--neighbours: file '$graph'$1" schedule neighbour_alltoall direct_neighbours --neighbours "$graph"
}
wrong ", line 1: needs a rank and those it sends to, as '0: 1 2'" '0 1 2\n'
wrong ", line 2: 'x' is no rank" '0: 1\n1: x\n'
wrong ", line 1: '-1' is no rank" '0: -1\n'
wrong ", line 1: '' is no rank" ': 1\n'
wrong ", line 2: rank 0 has a line already" '0: 1\n0: 2\n'
wrong ", line 1: '1' is behind the rank" '0 1: 2\n'
wrong ", line 1: '99999999' is no rank" '0: 99999999\n'
wrong ": names no ranks" '# none\n'
