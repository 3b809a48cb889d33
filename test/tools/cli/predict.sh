#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough predict.
. "${0%/*}/expect.sh"

run 0 predict rdma --ranks 16 --bytes 64
prints "      16      64                   3       3      3              27.32    33.72           46.91      1K"
json predict rdma --ranks 8,512 --bytes 4,4K --format json
matches '"best_k": 7,'
json predict rdma --ranks 4 --bytes 8 --measure in_process --json
prints '"residual_rms"'

refuses "MODEL: there is no 'pigeon'; known is rdma" predict pigeon
refuses "--parameters: needs eight costs" predict rdma --parameters 1,2,3
refuses "--parameters: needs eight costs" predict rdma --parameters 1,2,3,4,5,6,7,-8
refuses "--measure: does not go with --parameters" predict rdma --measure in_process --parameters 1,2,3,4,5,6,7,8
refuses "--measure: there is no 'pigeon' to write remotely over" predict rdma --measure pigeon
refuses "--provider: goes with --measure fabric" predict rdma --provider tcp
refuses "--provider: goes with fabric" predict rdma --measure in_process --provider tcp

run 0 predict rdma --ranks 4 --bytes 8 --blocks 18446744073709551615,1K
prints "22.20"

refuses "--blocks: a block holds at least a byte" predict rdma --blocks 0

run 0 predict rdma --ranks 512 --messages 16:4:55.0:118.1
prints "     512       4                 123.8     99.4    19.7 %             3     265.7         160.3    172.5          39.7 %  35.1 %"
run 0 predict rdma --ranks 512 --messages 16:4:0.001:0.001 # figures that are wider than their columns
matches '^ +512 +4 ( +[0-9.]+){2}  +-[0-9.]+ %  +3 ( +[0-9.]+){3}(  +-[0-9.]+ %){2}$'
json predict rdma --ranks 1,512 --messages 16:4:55.0:118.1,2:4K:60:120 --json
matches '"allreduce_benefit_worst": 0.35'

refuses "--messages: needs RANKS:BYTES:BROADCAST:ALLREDUCE, not '16:4'" predict rdma --messages 16:4
refuses "--messages: needs a number from 2 to" predict rdma --messages 1:4:5:6
refuses "--messages: needs a time in us above 0, not '-5'" predict rdma --messages 16:4:-5:6
refuses "--bytes: does not go with --messages" predict rdma --bytes 8 --messages 16:4:5:6
