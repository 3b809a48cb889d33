#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# bough demo.
. "${0%/*}/expect.sh"

# More of it, and what it refuses: test/tools/demo_test.sh.
printf '1.5\n2.5\n' >"$scratch/numbers.txt"
run 0 demo "$scratch/numbers.txt" --picture "$scratch/run.svg"
prints "2 numbers, lowest 1.5, highest 2.5, mean 2"
grep -q '</svg>' "$scratch/run.svg" || fail "wrote no picture"

refuses "file '$scratch/none': cannot be opened" demo "$scratch/none"
