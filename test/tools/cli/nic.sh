#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough nic.
. "${0%/*}/expect.sh"

run 0 nic reduce binomial --ranks 4 --rank 0
prints "step 1   c1 = 2  [0..1) = op([0..1), [2..3))  -> c2"
prints "the programs obey the rules"
prints_not "rank 1 of 4"
run 0 nic reduce binomial --ranks 16 --multicast --target xdp --accumulate
run 1 nic reduce binomial --ranks 16 --target xdp
prints "xdp refuses: rank 0: one arrival sets more messages free than the target can send at once (4, and 1 is the most)"
run 0 nic reduce binomial --ranks 16 --target xdp --without-credits
prints "checked, but for what hosts promise"
run 1 nic reduce flat --ranks 16 --target xdp --without-credits --elements 68 --rank 5
prints "xdp refuses: rank 0: a bank needs more elements than the target has room for in one (1088, and 1024 is the most)"
run 1 nic reduce binomial --ranks 16 --target tc --op min
prints "the target has a few ops, and this is none of them"
run 1 nic allreduce ring --ranks 5 --op own
prints "the plan does not keep rank order, and the op does not commute"
run 0 nic barrier dissemination --ranks 2 --rank 1 --format hex
matches '^4247484e0200000001000200'
run 0 nic --targets
prints "portals4"
prints "sum of int64, uint64, float64"

refuses "--target: there is no 'abacus'; known are host, simulated, xdp" nic reduce flat --ranks 4 --target abacus
refuses "COLLECTIVE: say which" nic reduce

run 0 nic --choose --ranks 64
prints "reduce over 64 ranks, 8 bytes: all on NICs, degree "
prints "all on hosts"
run 0 nic --choose --ranks 2
prints "reduce over 2 ranks, 8 bytes: all on hosts"
run 0 nic --choose --ranks 64 --type float64 --elements 8 --nic-costs 2.1us,0.42us,1.5us,9.2us,2.95us \
    --host-costs 2.1us,0.42us,1.5us,9.3us,2.95us
prints "64 bytes: all on NICs, degree 3, 3 splits: 43.6 us"
prints "  3 splits: hosts, degree 3: 43.7 us; NICs, degree 3: 43.6 us"
prints_not "  4 splits"
prints_not "a fifth cost says otherwise"
run 0 nic --choose --ranks 64 --elements 65535 --nic-costs 2.1us,0.42us,1.5us,9.2us,2.95us
prints "hosts: 65535 elements are combined in the time of one; a fifth cost says otherwise"
prints_not "NICs: 65535"

refuses "--nic-costs: c of two elements must be no less than c of one" nic --choose --ranks 64 --nic-costs 1us,1us,10us,1us,5us
refuses "--nic-costs: needs four times: L,r,c,C" nic --choose --ranks 64 --nic-costs 1,2,3
refuses "--choose: needs --ranks" nic --choose

run 0 nic reduce --choose --ranks 4 --root 0
for ignored in "--root 3" "--rank 1" "--target xdp" "--target host" "--degree 4" "--banks 2" --multicast "--format hex"; do
    # shellcheck disable=SC2086 # two words
    refuses "${ignored%% *}: does not change where a reduction should run; it is for programs, without --choose" \
        nic --choose --ranks 4 $ignored
done

refuses "COLLECTIVE: is reduce, if anything, beside --choose" nic barrier --choose --ranks 4
refuses "--choose: does not change the list of targets" nic --choose --ranks 4 --targets
refuses "--nic-costs: does not change the list of targets" nic --targets --nic-costs 1,2,3,4
refuses "--node-costs: does not change the times of one process per node; it is for --per-node" nic --choose --ranks 4 --node-costs 1,2,3,4

for ignored in --host-costs --nic-costs --node-costs; do
    refuses "$ignored: does not change programs; it is for --choose" nic reduce flat --ranks 4 "$ignored" 1,2,3,4
done

refuses "--per-node: does not change programs; it is for --choose" nic reduce flat --ranks 4 --per-node 2
refuses "--ranks: 4096 are the most that a choice walks" nic --choose --ranks 70000
refuses "--elements: " nic --choose --ranks 4 --elements 65536
refuses "--ranks: that is too much to prove: the steps of all ranks times the ranks may be at most" nic reduce binomial --ranks 32768
