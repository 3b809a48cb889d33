#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough launch.
. "${0%/*}/expect.sh"

run 0 launch -n 3 true
prints_exactly ""
run 0 launch -n 2 --prefix -- sh -c 'echo here'
[ "$(sort "$scratch/out")" = "$(printf '[0] here\n[1] here')" ] || fail "no prefixes"
run 0 launch --ranks 2 sh -c 'test "$1" = --prefix' sh --prefix # arguments of the program stay its own
run 7 launch -n 2 sh -c 'exit 7'
complains "ended with exit status 7"
run 143 launch -n 1 sh -c 'kill -TERM $$'
complains "bough: rank 0 was killed by signal 15 (SIGTERM)"
run 124 launch -n 2 --timeout 0.2 sleep 60
complains "the time was up"
run 9 launch -n 2 --grace 0.1 sh -c 'mkdir "$1" 2>/dev/null && exit 9; sleep 60' sh "$scratch/first"
run 0 launch -n 2 "$bough" --version

refuses "PROGRAM: '/no/such' cannot be run" launch -n 2 /no/such
refuses "-n: needs a number from 1 to 4096, not '0'" launch -n 0 true
refuses "--ranks: needs a number from 1 to 4096, not '0'" launch --ranks 0 true
refuses "--timeout: needs a number of seconds, not 'soon'" launch -n 1 --timeout soon true
refuses "PROGRAM is required" launch -n 1
