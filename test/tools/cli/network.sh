#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough network, and its files.
. "${0%/*}/expect.sh"

run 0 network torus:8x8,50,200,hop=50
prints "64 hosts, 64 switches"
prints "of hosts          64 cables of 200 bytes per ns"
prints "between switches  128 cables of 50 bytes per ns"
prints "from host to host 3 to 10 links, 6.06 on average, 50 ns each"
for net in crossbar:3,1 fat_tree:2,2,1 fat_tree:4x2/1x2,1.5 torus:2x3,1 mesh:2x3,0.1,0.3 dragonfly:2,1,1,1,0.5 \
    rails:2,3,1,6 sockets:2,2,2,1,8,2 irregular:8,4,8,50,1; do
    run 0 network "$net,hop=1us" --format file
    cp "$scratch/out" "$scratch/net"
    run 0 network "$net,hop=1us"
    keep said
    run 0 network "$scratch/net"
    cmp -s "$scratch/said" "$scratch/out" || fail "the file of $net is another network"
    run 0 network "$scratch/net" --format file
    cmp -s "$scratch/net" "$scratch/out" || fail "the file of $net is not written again"
    # A run over the file is the run over the network.
    run 0 simulate allreduce ring --ranks 3 --bytes 4K --network "$net,hop=1us"
    keep said
    run 0 simulate allreduce ring --ranks 3 --bytes 4K --network "$scratch/net"
    cmp -s "$scratch/said" "$scratch/out" || fail "a run over the file of $net differs"
    json network "$scratch/net" --json
done
run 0 network crossbar:2,1 --format dot
prints '  0 -- s0 [label="1"]'

refuses "--network: needs torus:4x4x4,SPEED or torus:4x4x4,SPEED,HOST_SPEED" network torus:4x4
about_speed="a cable has a speed from 1e-30 to 1e30 bytes per ns"
refuses "--network: $about_speed, not '0'" network torus:4x4,0
refuses "--network: $about_speed, not '0'" network torus:4x4,1,0
for speed in 1e302 1e-300 1e31 1e-31; do refuses "--network: $about_speed, not '$speed'" network crossbar:2,$speed; done
for speed in 1e999 inf 1e-999; do
    refuses "--network: needs a finite number that a double can hold, not '$speed'" network mesh:4x4,$speed
done
for speed in nan -1 fast 1.5x; do
    refuses "--network: needs a number that is not negative, not '$speed'" network "mesh:4x4,$speed"
done
for speed in 1e-30 1e30; do # no run goes on for ever
    run 0 simulate allreduce ring --ranks 2 --bytes 1M --network crossbar:2,$speed
    run 0 choose allreduce --ranks 4 --bytes 1M --network torus:2x2,$speed
    run 0 map broadcast --ranks 4 --bytes 64..1M --network mesh:4,1,$speed
done
refuses "--network: '$scratch' is a directory" network "$scratch"
refuses "--network: needs a time as 300, 1.5us" network mesh:4x4,1,hop=x
refuses "--network: needs as many numbers up as down" network fat_tree:4x4/1,1
refuses "--network: at most 4096 hosts" network rails:100,100,1,1
refuses "--network: there is no 'star'; known are crossbar, fat_tree, torus, mesh" network star:4,1
refuses "--network: there is no file 'nothing'" network nothing
printf 'hosts 3\nswitches 1\ncable 0 3 1\ncable 1 3 1\n' >"$scratch/net"
refuses "--network: $scratch/net: network: not connected: there is no way between two hosts with ranks" network "$scratch/net"
printf 'hosts 2\ncable 0 1 0\n' >"$scratch/net"
refuses "--network: $scratch/net: line 2: cable: needs a speed from 1e-30 to 1e30 bytes per ns, not '0'" simulate allreduce ring --ranks 2 --network "$scratch/net"
printf 'hosts 2\ncable 0 1 1\nplace 1 0\n' >"$scratch/net"
run 0 simulate allreduce ring --ranks 2 --network "$scratch/net"
refuses "--network: placement: must name a host of the network for each rank" simulate allreduce ring --ranks 3 --network "$scratch/net"

# Slurm's topology.conf.
conf=$scratch/topology.conf
printf 'SwitchName=leaf1 Nodes=tux[0-3]\nSwitchName=leaf2 Nodes=tux[4-7]\nSwitchName=top Switches=leaf[1-2]\n' >"$conf"
run 0 network "slurm:$conf,12.5,50,hop=50ns"
prints "8 hosts, 3 switches"
prints "of hosts          8 cables of 12.5 bytes per ns"
prints "between switches  2 cables of 50 bytes per ns"
prints "from host to host 2 to 4 links"
run 0 network "slurm:$conf,12.5" --format file
prints "cable 8 10 12.5"
run 0 choose allreduce --ranks 8 --bytes 1M --network "slurm:$conf,12.5,50"
prints "of what this network can do"
printf 'SwitchName=leaf1 Nodes=tux[0-3\n' >"$conf"
refuses "--network: $conf: line 1: Nodes: 'tux[0-3' is no list" network "slurm:$conf,12.5"
refuses "--network: $about_speed, not '0'" network "slurm:$conf,0"
refuses "--network: $about_speed, not '1e302'" network "slurm:$conf,1,1e302"
refuses "--network: needs slurm:FILE,SPEED or slurm:FILE,SPEED,SWITCH_SPEED" network "slurm:$conf"
refuses "--network: there is no file 'nothing'" network slurm:nothing,1

# hwloc's XML.
object() { printf '<object type="%s">%s</object>' "$1" "$2"; }
machine() { printf '<topology>%s</topology>' "$(object Machine "$1")" >"$scratch/node.xml"; }
core=$(object L2Cache "$(object Core "$(object PU '')")")
machine "$(object Package "$core$core$core")$(object Package "$(object NUMANode '')$core$core$core")"
if "$bough" network "hwloc:$scratch/node.xml,2,12.5,40,20" 2>&1 | grep -q 'built without pugixml'; then
    echo "left out: hwloc's XML needs pugixml"
else
    run 0 network "hwloc:$scratch/node.xml,2,12.5,40,20" --format file
    keep said
    run 0 network sockets:2,2,3,12.5,40,20 --format file
    cmp -s "$scratch/said" "$scratch/out" || fail "hwloc's machine is another network than its sockets"
    machine "$(object Package "$core$core")$(object Package "$core")"
    refuses "--network: $scratch/node.xml: a package has 1 cores, and another one 2" \
        network "hwloc:$scratch/node.xml,2,12.5,40,20"
    machine "$core"
    refuses "--network: $scratch/node.xml: the machine has no package" network "hwloc:$scratch/node.xml,2,12.5,40,20"
    machine "$(object Package '')"
    refuses "--network: $scratch/node.xml: a package has no cores" network "hwloc:$scratch/node.xml,2,12.5,40,20"
    printf '<algo/>' >"$scratch/node.xml"
    refuses "--network: $scratch/node.xml: there is no element topology" network "hwloc:$scratch/node.xml,2,12.5,40,20"
    printf '<topology' >"$scratch/node.xml"
    refuses "--network: $scratch/node.xml: this is no XML" network "hwloc:$scratch/node.xml,2,12.5,40,20"
fi
refuses "--network: needs hwloc:FILE,NODES,CARD_SPEED,BETWEEN_SPEED,CORE_SPEED" network hwloc:none,1
refuses "--network: there is no file 'nothing'" network hwloc:nothing,1,1,1,1
