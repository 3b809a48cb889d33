#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# The program as a whole: its commands, its help, and what is no command of it.
. "${0%/*}/expect.sh"

run 0
for command in tree compare schedule verify table choose map measure simulate tune predict run launch timeline nic export import demo completion help; do
    prints "  $command "
    run 0 "$command" --help
    [ "$(grep -c "^  bough $command" "$scratch/out")" -ge 2 ] || fail "shows no two examples"
    run 0
done
run 0 --help
run 0 --version
matches '^bough [0-9]+\.[0-9]+\.[0-9]+$'

refuses "'draw': is not a command; known are tree, compare, schedule, verify, table" draw

run 0 help
prints "  choose  "
run 0 help choose
prints "  bough choose allreduce --ranks 13 --bytes 64K"

refuses "COMMAND: there is no 'draw'; known are tree, compare" help draw
refuses "'--fast': is not an argument of 'bough tree'" tree flat --ranks 3 --fast

for command in "choose barrier" "map barrier" "tune barrier" "run barrier" "simulate barrier dissemination" \
    "timeline barrier dissemination" "export barrier dissemination"; do
    refuses "--bytes: a barrier moves no data" $command --ranks 3 --bytes 8
done
