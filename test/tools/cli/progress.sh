#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Progress: a line on a terminal, when it takes longer than two seconds; nothing in a pipe.
. "${0%/*}/expect.sh"

long_run="simulate allreduce recursive_doubling --ranks 16384 --runs 100000"
checks=$((checks + 1))
command_line="bough $long_run"
timeout 3 "$bough" $long_run >/dev/null 2>"$scratch/err"
[ ! -s "$scratch/err" ] || fail "progress in a pipe"

# shows TEXT ARGUMENTS...: a line that a terminal shows matches. (On a busy machine the first ones may say that
# nothing is done yet.)
shows() {
    local text=$1
    shift
    checks=$((checks + 1))
    command_line="bough $*, on a terminal"
    timeout 120 script -qefc "'$bough' $*" /dev/null </dev/null 2>/dev/null | stdbuf -o0 tr '\r' '\n' | grep -aEm 1 -- "$text" >"$scratch/out"
    matches "$text"
}
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    shows 'bough simulate: \[#* *' $long_run
    shows 'bough map: \[#* *' map allreduce --ranks 2..1024
else
    echo "not tested: progress on a terminal, without script(1)"
fi
