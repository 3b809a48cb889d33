#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough measure.
. "${0%/*}/expect.sh"

run 0 measure --ranks 4 --iterations 5
prints "C  before the first message"
prints "c  to combine it"
json measure --transport in_process --ranks 3 --iterations 5 --json
prints '"message_latency_ns"'

refuses "--ranks: needs a number from 3 to" measure --ranks 2
refuses "--ranks: needs a number from 3 to" measure --ranks 1000
refuses "--iterations: needs a number from 1 to" measure --iterations 0
refuses "--transport: there is no 'pigeon'; known are in_process" measure --transport pigeon

run 0 measure --model alpha_beta_gamma --ranks 3 --iterations 3
json measure --model alpha_beta_gamma --ranks 3 --iterations 3 --json

refuses "--model: there is no 'abacus' to measure; known are lrc, alpha_beta_gamma" measure --model abacus
